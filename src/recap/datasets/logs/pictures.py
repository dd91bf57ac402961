"""Pictures that stand in a log itself, as data: URLs."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from pathlib import Path

from recap.errors import RecapError
from recap.files import atomic_write, make_folder

_URL = re.compile(r"data:image/(?P<kind>[\w.+-]+)(?:;[\w.=+-]+)*;base64,(?P<data>.*)", re.DOTALL | re.IGNORECASE)
ENDINGS = {"jpeg": "jpg", "svg+xml": "svg"}


def keep_picture(url: str, folder: Path) -> str:
    """Write the picture into the folder, named by its content; its path."""
    content, kind = _decoded(url)
    path = folder / f"{hashlib.sha256(content).hexdigest()[:16]}.{ENDINGS.get(kind, kind)}"
    if not path.exists():
        make_folder(folder)
        with atomic_write(path) as stream:
            stream.write(content)
    return str(path)


def picture_digest(url: str) -> str:
    """What tells the picture from others."""
    return f"sha256:{hashlib.sha256(_decoded(url)[0]).hexdigest()[:16]}"


def _decoded(url: str) -> tuple[bytes, str]:
    found = _URL.fullmatch(url.strip())
    if found is None:
        raise RecapError("its picture is a data: URL of another kind than a base64 image")
    try:
        content = base64.b64decode("".join(found["data"].split()), validate=True)
    except (binascii.Error, ValueError):
        raise RecapError("its picture is not valid base64") from None
    if not content:
        raise RecapError("its picture is empty")
    return content, found["kind"].lower()
