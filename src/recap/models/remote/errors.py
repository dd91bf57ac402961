"""What can go wrong between client and server, in words that say what to do."""

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


class TransientError(Exception):
    """A request that may work if it is sent again."""

    def __init__(
        self, why: str, *, disconnected: bool = False, retry_after: float | None = None, limited: bool = False
    ) -> None:
        super().__init__(why)
        self.disconnected = disconnected
        """the connection failed: the user is told that we wait"""
        self.retry_after = retry_after
        """seconds that the server asks us to wait"""
        self.limited = limited
        """an answer did come: it is asked for only so many times"""


def status_error(
    status: int, headers: httpx.Headers, text: str, path: str, *, keyed: bool, advice: Sequence[tuple[str, str]]
) -> TransientError | RefusedError:
    """What a status other than 200 means: try again, or not. `advice` knows the refusals of this kind of server."""
    why = _message(text)
    detail = f"{status}: {why}" if why else str(status)
    if status in BUSY:
        return TransientError(f"the server is busy ({detail})", retry_after=_retry_after(headers))
    if status >= 500:
        return TransientError(f"the server failed ({detail})", limited=True)
    if status in (401, 403):
        refuses = "refuses the key from the environment" if keyed else "wants a key: set RECAP_API_KEY"
        return RefusedError(f"the server {refuses} ({status})")
    if 300 <= status < 400:
        return RefusedError(f"the server sends elsewhere ({status}): give the address it means")
    for pattern, change in advice:
        if re.search(pattern, why, re.IGNORECASE):
            return RefusedError(f"{change} ({why})")
    if status in (404, 405):
        return RefusedError(f"there is no {path} here ({detail})")
    return RefusedError(f"the server refuses {path} ({detail})")


def connection_error(error: httpx.HTTPError) -> str:
    """Why a connection failed, in words without addresses or headers."""
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
        value: Any = json.loads(text)
        while isinstance(value, dict):
            inner = cast(dict[str, Any], value)
            value = next((inner[name] for name in ("error", "message", "detail") if name in inner), "")
        text = value if isinstance(value, str) else json.dumps(value)
    except ValueError:
        text = "" if "<html" in text.lower() else text
    flat = " ".join(text.split())
    return flat if len(flat) <= 200 else f"{flat[:199]}…"
