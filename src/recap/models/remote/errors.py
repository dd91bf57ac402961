"""What can go wrong on the wire, in words that say what to do."""

from __future__ import annotations

import email.utils
import json
import re
import time
from collections.abc import Sequence
from typing import Any, cast

import httpx

from recap.models.remote.contract import RefusedError

BUSY = {408, 425, 429, 502, 503, 504, 529}
"""statuses of a server, or of something before it, that may answer later"""


class TroubleError(Exception):
    """A request that may work if it is sent again."""

    def __init__(self, why: str, *, gone: bool = False, after: float | None = None, finite: bool = False) -> None:
        super().__init__(why)
        self.gone = gone
        """the connection failed: the user is told that we wait"""
        self.after = after
        """seconds that the server asks us to wait"""
        self.finite = finite
        """an answer did come: it is asked for only so many times"""


def judged(
    status: int, headers: httpx.Headers, text: str, path: str, *, keyed: bool, advice: Sequence[tuple[str, str]]
) -> TroubleError | RefusedError:
    """What a status other than 200 means: try again, or not. `advice` knows the refusals of this kind of server."""
    why = _message(text)
    told = f"{status}: {why}" if why else str(status)
    if status in BUSY:
        return TroubleError(f"the server is busy ({told})", after=_retry_after(headers))
    if status >= 500:
        return TroubleError(f"the server failed ({told})", finite=True)
    if status in (401, 403):
        had = "refuses the key from the environment" if keyed else "wants a key: set RECAP_API_KEY"
        return RefusedError(f"the server {had} ({status})")
    if 300 <= status < 400:
        return RefusedError(f"the server sends elsewhere ({status}): give the address it means")
    for pattern, change in advice:
        if re.search(pattern, why, re.IGNORECASE):
            return RefusedError(f"{change} ({why})")
    if status in (404, 405):
        return RefusedError(f"there is no {path} here ({told})")
    return RefusedError(f"the server refuses {path} ({told})")


def broken(error: httpx.HTTPError) -> str:
    """What broke, in words without addresses or headers."""
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        why = str(error).lower()
        if "name or service not known" in why or "name resolution" in why or "nodename" in why:
            return "no host of that name is known"
        if "certificate" in why or "ssl" in why:
            return "no safe connection can be made (certificate)"
        return "the server does not answer (connection refused)"
    if isinstance(error, httpx.UnsupportedProtocol | httpx.ProxyError):
        return f"no connection can be made ({type(error).__name__})"
    return "the connection broke in the middle"


def _retry_after(headers: httpx.Headers) -> float | None:
    """Seconds, or a date, that the server asks us to wait."""
    text = headers.get("Retry-After", "").strip()
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return float(text)
    try:
        date = email.utils.parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, date.timestamp() - time.time())


def _message(text: str) -> str:
    """The server's own words, short: `{"error": {"message": …}}`, `{"message": …}`, `{"detail": …}` or plain."""
    try:
        found: Any = json.loads(text)
        while isinstance(found, dict):
            inner = cast(dict[str, Any], found)
            found = next((inner[name] for name in ("error", "message", "detail") if name in inner), "")
        text = found if isinstance(found, str) else json.dumps(found)
    except ValueError:
        text = "" if "<html" in text.lower() else text
    flat = " ".join(text.split())
    return flat if len(flat) <= 200 else f"{flat[:199]}…"
