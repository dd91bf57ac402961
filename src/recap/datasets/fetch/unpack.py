"""Pictures out of an archive: only those that are wanted, and only to where the annotations say."""

from __future__ import annotations

import gzip
import tarfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath

from recap.errors import RecapError, reason
from recap.files import atomic_write, make_folder


class BadArchiveError(RecapError):
    """An archive that is broken, or that tries to write where it should not."""


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
                    _write(wanted[name], stream.read())
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
