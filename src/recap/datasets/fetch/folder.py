"""A benchmark's folder while it is being filled: every file whole and checked, or not there.

Digests are kept in `checksums.txt`, in the format of `sha256sum`: trusted at first use, checked ever after.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import tarfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from urllib.parse import quote

import httpx

from recap.datasets.fetch.download import NotServedError, download
from recap.datasets.fetch.sources import File, OfficialSource, Pictures
from recap.errors import RecapError, reason
from recap.files import atomic_write, make_folder, reading, write_text

THREADS = 8
HOPELESS = 2 * THREADS
"""failures, and no success: the place is out of reach, and a thousand more attempts would not help"""
CHECKSUMS = "checksums.txt"
LARGEST = 64 << 20
"""bytes of one picture in an archive"""


class BadArchiveError(RecapError):
    """An archive that is broken, or that tries to write where it should not."""


def silent(*_told: object) -> None:
    """Nobody wants to know."""


@dataclass
class Folder:
    """One benchmark's folder, the digests of what is in it, and where more comes from."""

    name: str
    source: OfficialSource
    root: Path
    client: httpx.Client
    mirror: str | None = None
    say: Callable[[str], None] = silent
    progress: Callable[[str, int, int], None] = silent
    """told of what, how much is done, and of how much"""
    checksums: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.checksums = read_checksums(self.root)

    def say_terms(self) -> None:
        """On what terms the files may be used: said before any of them comes."""
        for line in self.source.terms:
            self.say(f"{self.name}, {line}")

    def fetch_annotations(self) -> None:
        for file in self.source.files:
            self._keep(file)

    def save(self) -> None:
        """Keep the digests of everything that came."""
        if self.root.is_dir():
            lines = (f"{self.checksums[path]}  {path}\n" for path in sorted(self.checksums))
            write_text(self.root / CHECKSUMS, "".join(lines))

    def fetch_pictures(self, images: Sequence[str]) -> list[str]:
        """Every picture from where it lies. Returns one line for each that could not be had."""
        by_place: dict[Pictures, list[str]] = {}
        for image in images:
            by_place.setdefault(self.source.pictures_of(image), []).append(image)
        failed: list[str] = []
        for pictures, named in sorted(by_place.items(), key=lambda each: each[0].archive is not None):
            if pictures.archive is None:
                failed += self._one_by_one([pictures.file(image) for image in named])
            else:
                failed += self._from_archive(pictures, pictures.archive, named)
        return failed

    def _keep(self, file: File) -> None:
        """An annotation file or archive, with a hint where it can be had by hand."""
        target = self.root / file.path

        def tell(done: int, of: int) -> None:
            if of >> 20:
                self.progress(f"{file.path} (MiB)", done >> 20, of >> 20)

        try:
            self._place(file, tell)
        except NotServedError as error:
            if self.mirror:
                raise
            raise RecapError(f"{error}; get it by hand from {self.source.page} and save it as {target}") from None

    def _place(self, file: File, progress: Callable[[int, int], None] = silent) -> None:
        """The file in its place, fetched if it is not there yet, and its digest kept. Threads may do this at once."""
        target = self.root / file.path
        wanted = file.sha256 or self.checksums.get(file.path)
        if target.exists():
            found = digest(target)
            if wanted in (None, found):
                self.checksums[file.path] = found
                return
            self.say(f"{target}: its checksum is wrong; fetching it again")
        part = target.with_name(f"{target.name}.part")
        download(self.client, self._places(file), part, progress)
        found = digest(part)
        if wanted not in (None, found):
            part.unlink()
            whose = "the official file has" if file.sha256 else f"{self.root / CHECKSUMS} has, from the first download,"
            raise RecapError(f"{target}: wrong checksum, removed: it came with sha256 {found}, but {whose} {wanted}")
        if part.stat().st_size == 0:
            part.unlink()
            raise NotServedError(f"{target}: it came empty")
        try:
            os.replace(part, target)
        except OSError as error:
            raise RecapError(f"{target}: cannot write: {reason(error)}") from None
        self.checksums[file.path] = found

    def _places(self, file: File) -> tuple[str, ...]:
        return (f"{self.mirror.rstrip('/')}/{self.name}/{quote(file.path)}",) if self.mirror else file.urls

    def _one_by_one(self, files: Sequence[File]) -> list[str]:
        failed: list[str] = []
        pool = ThreadPoolExecutor(THREADS)
        try:
            waiting = [pool.submit(self._place, file) for file in files]
            for done, future in enumerate(as_completed(waiting), start=1):
                try:
                    future.result()
                except RecapError as error:
                    failed.append(str(error))
                if len(failed) == done == HOPELESS:
                    raise RecapError(f"none of {done} pictures could be fetched, the rest was not tried: {failed[-1]}")
                self.progress("pictures", done, len(files))
        finally:
            pool.shutdown(cancel_futures=True)
        return failed

    def _from_archive(self, pictures: Pictures, archive: File, images: Sequence[str]) -> list[str]:
        """The archive is fetched only while pictures of it are missing, and stays: a served folder is a mirror."""
        wanted = {pictures.member_of(image): pictures.file(image).path for image in images}
        missing = {member: path for member, path in wanted.items() if not self._is_there(path)}
        if not missing:
            return []
        source = self.root / archive.path
        try:
            self._keep(archive)
            found = unpack(
                source,
                {member: self.root / path for member, path in missing.items()},
                lambda done: self.progress(f"pictures of {archive.path}", done, len(missing)),
            )
        except BadArchiveError as error:
            source.unlink()
            del self.checksums[archive.path]
            self.say(f"{error}; removed")
            return [f"{self.root / path}: its archive is bad" for path in missing.values()]
        except RecapError as error:
            self.say(str(error))
            return [f"{self.root / path}: its archive could not be fetched" for path in missing.values()]
        failed = [f"{self.root / path}: not in {source}" for member, path in missing.items() if member not in found]
        for path in (missing[member] for member in found):
            self.checksums[path] = digest(self.root / path)
        return failed

    def _is_there(self, path: str) -> bool:
        """Whether a picture is in its place. One seen for the first time is trusted, and its digest kept."""
        if not (self.root / path).is_file():
            return False
        found = digest(self.root / path)
        return self.checksums.setdefault(path, found) == found


def digest(path: Path) -> str:
    """The sha256 of a file."""
    with reading(path, "file"), path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def read_checksums(root: Path) -> dict[str, str]:
    """The digests kept in a folder, by the files' paths in it."""
    source = root / CHECKSUMS
    if not source.exists():
        return {}
    with reading(source, "checksums"):
        lines = source.read_text("utf-8").splitlines()
    found: dict[str, str] = {}
    for place, line in enumerate(lines, start=1):
        match = re.fullmatch(r"([0-9a-f]{64}) [ *](.+)", line)
        if match is None:
            raise RecapError(f"{source}:{place}: not a line of sha256sum; put it right or delete the file")
        found[match[2]] = match[1]
    return found


def unpack(archive: Path, wanted: Mapping[str, Path], progress: Callable[[int], None] = lambda _done: None) -> set[str]:
    """Write the wanted members to their targets and return those that were found.

    A member is known by the last parts of its name, and its bytes go to our target: nothing is ever written to where
    a member's name leads. An archive in which one leads out of the folder is refused before anything is written.
    """
    depth = max((len(PurePosixPath(name).parts) for name in wanted), default=1)
    found: set[str] = set()
    try:
        with tarfile.open(archive, "r:*") as members:
            for member in members.getmembers():
                if member.name.startswith("/") or ".." in PurePosixPath(member.name).parts:
                    raise BadArchiveError(f'{archive}: its member "{member.name}" leads out of the folder')
            for member in members.getmembers():
                name = "/".join(PurePosixPath(member.name).parts[-depth:])
                stream = members.extractfile(member) if name in wanted and member.isreg() else None
                if stream is not None:
                    if member.size > LARGEST:  # of a sparse member, what it would become: ten kilobytes can say 3 GB
                        raise BadArchiveError(f'{archive}: its member "{member.name}" is too large for a picture')
                    _write(wanted[name], stream.read(LARGEST))
                    found.add(name)
                    progress(len(found))
    except (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise BadArchiveError(f"{archive}: not a whole archive: {str(error).lower()}") from None
    except OSError as error:
        raise RecapError(f"{archive}: cannot be unpacked: {reason(error)}") from None
    return found


def _write(target: Path, content: bytes) -> None:
    make_folder(target.parent)
    with atomic_write(target) as stream:
        stream.write(content)
