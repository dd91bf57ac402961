"""What was fetched and its digests, in the format of `sha256sum`: trusted at first use, checked ever after."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from recap.errors import RecapError
from recap.files import reading, write_text

NAME = "checksums.txt"
_LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)")


def digest(path: Path) -> str:
    """The sha256 of a file."""
    with reading(path, "file"), path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def read_checksums(root: Path) -> dict[str, str]:
    """The digests kept in a folder, by the files' paths in it."""
    source = root / NAME
    if not source.exists():
        return {}
    found: dict[str, str] = {}
    with reading(source, "checksums"):
        text = source.read_text("utf-8")
    for place, line in enumerate(text.splitlines(), start=1):
        match = _LINE.fullmatch(line)
        if match is None:
            raise RecapError(f"{source}:{place}: not a line of sha256sum; put it right or delete the file")
        found[match[2]] = match[1]
    return found


def write_checksums(root: Path, found: dict[str, str]) -> None:
    """Keep the digests; `sha256sum --check checksums.txt` reads them too."""
    write_text(root / NAME, "".join(f"{found[path]}  {path}\n" for path in sorted(found)))
