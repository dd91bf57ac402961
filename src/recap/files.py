"""Files are read with errors a user can act on, and written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import IO

from recap.errors import RecapError, reason

LONGEST_LINE = 1 << 20
"""A row of every channel is under 2 kB. A megabyte on one line is no row of ours."""
BOM = b"\xef\xbb\xbf"


@contextlib.contextmanager
def reading(path: Path, what: str) -> Generator[None]:
    """Turns the operating system's refusals while reading `path` into one clear line."""
    try:
        yield
    except OSError as error:
        raise RecapError(f"{path}: cannot read the {what}: {reason(error)}") from None
    except UnicodeDecodeError:
        raise RecapError(f"{path}: cannot read the {what}: it is not UTF-8 text") from None


@contextlib.contextmanager
def locating(source: Path, place: int) -> Generator[None]:
    """Adds the file and the row to what is wrong with the row."""
    try:
        yield
    except RecapError as error:
        raise RecapError(f"{source}:{place}: {error}") from None


def read_lines(path: Path, what: str, longest: int = LONGEST_LINE) -> Iterator[tuple[int, bytes]]:
    """The lines of a file that are not blank, with their numbers. One beyond all bounds is refused unread."""
    with reading(path, what), path.open("rb") as stream:
        number = 0
        while line := stream.readline(longest + 1):
            number += 1
            if len(line) > longest:
                raise RecapError(f"{path}:{number}: the row is longer than {longest >> 20} MiB")
            if line.strip():
                yield number, line.removeprefix(BOM) if number == 1 else line


@contextlib.contextmanager
def atomic_write(path: str | Path) -> Generator[IO[bytes]]:
    """A binary file that appears under `path` only when the block ends well: no half-written output, ever.

    A link is followed, and a device or pipe (`--out /dev/stdout`) is written to, never replaced.
    """
    target = Path(os.path.realpath(path))
    temporary: str | None = None
    try:
        if Path(path).exists() and not Path(path).is_file():
            with Path(path).open("wb") as stream:
                yield stream
            return
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, target)
        temporary = None
    except OSError as error:
        raise RecapError(f"{path}: cannot write: {reason(error)}") from None
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def check_writable(path: str | Path) -> None:
    """Complain now about a place where `atomic_write` could not write later: hours of work may lie between."""
    target = Path(os.path.realpath(path))
    try:
        if target.is_dir():
            raise RecapError(f"{path}: cannot write: is a directory")
        if target.exists() and not target.is_file():
            return  # a device or pipe, which is written to as it is
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        os.close(handle)
        os.unlink(temporary)
    except OSError as error:
        raise RecapError(f"{path}: cannot write: {reason(error)}") from None


def refuse_overwriting(out: str | Path | None, *inputs: str | Path | None) -> None:
    """Complain where a result would replace what it is made from, or what else is kept in that run."""
    for each in inputs:
        if out is None or each is None or (Path(out).exists() and not Path(out).is_file()):
            continue  # nothing is replaced in a device or a pipe
        with contextlib.suppress(OSError):
            if os.path.realpath(each) == os.path.realpath(out) or Path(each).samefile(out):
                raise RecapError(
                    f"{out}: this is the file that is read, and writing there would replace it; give another"
                )


def make_folder(path: Path) -> None:
    """Make a folder for output, with those above it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecapError(f"{path}: cannot make the folder: {reason(error)}") from None


def write_text(path: str | Path, text: str) -> None:
    """Write a whole text file atomically."""
    with atomic_write(path) as stream:
        stream.write(text.encode())
