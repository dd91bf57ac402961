"""One file over HTTP: tried again where the network failed, and continued from what is already there."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import httpx

import recap
from recap.compression import IDENTITY
from recap.errors import RecapError, reason

ATTEMPTS = 4
PAUSE = 0.5
"""seconds before the second attempt; each further pause is twice as long"""
BUSY = {408, 425, 429, 500, 502, 503, 504}
ABSENT = {403, 404, 410}
"""403 too: storage services answer so for a name they do not have."""

Progress = Callable[[int, int], None]
"""told how many bytes are there, and of how many (0: unknown)"""


class NotServedError(RecapError):
    """The server answered, but not with the file: trying again will not help."""


class _AgainError(Exception):
    """A fault that may pass."""


def open_client() -> httpx.Client:
    """A client for a whole run; threads may share it. No compression: a download is continued by its plain bytes."""
    return httpx.Client(
        follow_redirects=True,
        timeout=httpx.Timeout(60, connect=15),
        headers={"User-Agent": f"recap/{recap.__version__}", "Accept-Encoding": "identity"},
    )


def download(
    client: httpx.Client, urls: Sequence[str], part: Path, progress: Progress = lambda _done, _of: None
) -> None:
    """Fill `part` from the first of these places that has the file. What came before a failure is kept."""
    for url in urls:
        if _attempts(client, url, part, progress):
            return
    raise NotServedError(f"{' and '.join(urls)}: not there, or not given out")


def _attempts(client: httpx.Client, url: str, part: Path, progress: Progress) -> bool:
    """Whether this place has the file, after as many attempts as it takes."""
    why = ""
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(PAUSE * 2 ** (attempt - 1))
        try:
            return _once(client, url, part, progress)
        except httpx.TransportError as error:
            why = _words(error)
        except _AgainError as error:
            why = str(error)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise RecapError(f"{url}: {_words(error)}") from None
        except OSError as error:
            raise RecapError(f"{part}: cannot write: {reason(error)}") from None
    kept = f"; what came is kept in {part}" if part.exists() else ""
    raise RecapError(f"{url}: {why} (tried {ATTEMPTS} times{kept})")


def _once(client: httpx.Client, url: str, part: Path, progress: Progress) -> bool:
    have = part.stat().st_size if part.exists() else 0
    wanted = IDENTITY | ({"Range": f"bytes={have}-"} if have else {})
    with client.stream("GET", url, headers=wanted) as response:
        status = response.status_code
        if status in BUSY:
            raise _AgainError(f"the server answers {status}")
        if status in ABSENT:
            return False
        if status == 416:
            if response.headers.get("Content-Range") == f"bytes */{have}":
                return True  # all of it came before, and only the last step was missed
            part.unlink()
            raise _AgainError("what was there is no part of this file")
        if status not in (200, 206):
            raise NotServedError(f"{url}: the server answers {status}")
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise NotServedError(f"{url}: the server sent the file compressed, though it was asked for plain")
        if response.headers.get("Content-Type", "").startswith("text/html"):
            raise NotServedError(f"{url}: the server sent a web page in place of the file")
        if status == 206 and not response.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
            part.unlink(missing_ok=True)
            raise _AgainError("the server sent another part than was asked for")
        # A server that does not know ranges answers 200 and sends everything again.
        done = have if status == 206 else 0
        total = done + int(response.headers.get("Content-Length", -done))
        part.parent.mkdir(parents=True, exist_ok=True)  # only now: a server out of reach leaves no empty folders
        with part.open("ab" if status == 206 else "wb") as stream:
            # As they come: a fixed size would lose the last ones when it breaks off.
            for chunk in response.iter_raw():
                stream.write(chunk)
                done += len(chunk)
                progress(done, total)
    return True


def _words(error: Exception) -> str:
    """What went wrong in a few words, without the library's advice and error numbers."""
    if isinstance(error, httpx.TimeoutException):
        return "the server does not answer in time"
    said = re.sub(r"^\[[^\]]*\]\s*", "", str(error)).strip() or type(error).__name__
    return said[:1].lower() + said[1:]
