"""Who may call: tokens with names, compared in constant time, and how often each may ask."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import time
from dataclasses import dataclass, field
from pathlib import Path

from recap.errors import RecapError
from recap.files import read_lines

TOKEN = "RECAP_TOKEN"
SHORTEST_TOKEN = 16
DEFAULT_NAME = "default"
"""what the token from the environment is called in logs"""
BURST = 2.0
"""seconds' worth of requests that may come at once"""
REMEMBERED = 4096
"""callers whose rate is watched"""


def token_in_environment() -> str | None:
    """`$RECAP_TOKEN` without the spaces and line ends around it, with which no caller could ever send it."""
    token = os.environ.get(TOKEN, "").strip() or None
    return None if token is None else _checked(token, f"${TOKEN}")


def read_tokens(path: Path) -> dict[str, str]:
    """Tokens by name: a file with one `NAME TOKEN` on each line; what follows a # is not read."""
    found: dict[str, str] = {}
    for number, line in read_lines(path, "tokens"):
        words = line.decode("utf-8", "replace").partition("#")[0].split()
        if not words:
            continue
        where = f"{path}:{number}"
        if len(words) != 2:
            raise RecapError(f"{where}: a line has a name and a token, nothing else")
        name, token = words
        if not re.fullmatch(r"[\w.@-]{1,64}", name):
            raise RecapError(f"{where}: a name has letters, digits and . @ - _, at most 64")
        if name in found or token in found.values():
            raise RecapError(f"{where}: this {'name' if name in found else 'token'} stands there twice")
        found[name] = _checked(token, where)
    if not found:
        raise RecapError(f"{path}: there is no token in it")
    return found


def _checked(token: str, where: str) -> str:
    if len(token) < SHORTEST_TOKEN:
        raise RecapError(f"{where} is too short to keep anyone out: give it at least {SHORTEST_TOKEN} characters")
    if not re.fullmatch(r"[\x21-\x7e]+", token):
        raise RecapError(f"{where} has a character that a token cannot have")
    return token


def bearer_of(header: str) -> str:
    """The token in an Authorization header; empty where there is none."""
    scheme, _, given = header.partition(" ")
    return given.strip() if scheme.lower() == "bearer" else ""


def name_of(given: str, tokens: dict[str, str]) -> str | None:
    """Whose token this is. Every one is compared, to the end: how long it takes tells nothing."""
    told, found = hashlib.sha256(given.encode("utf-8", "replace")).digest(), None
    for name, token in tokens.items():
        if hmac.compare_digest(told, hashlib.sha256(token.encode()).digest()):
            found = name
    return found


@dataclass
class Rates:
    """How often each caller may ask. `per_second` None lets all ask as they like."""

    per_second: float | None = None
    _left: dict[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])

    def seconds_to_wait(self, caller: str) -> float:
        """0 for a caller who may ask now, and has then asked; otherwise how long until the next may."""
        if self.per_second is None:
            return 0.0
        most, now = max(1.0, BURST * self.per_second), time.monotonic()
        left, at = self._left.get(caller, (most, now))
        left = min(most, left + (now - at) * self.per_second)
        if len(self._left) > REMEMBERED:
            self._left = {name: each for name, each in self._left.items() if now - each[1] < most / self.per_second}
        self._left[caller] = (left - 1.0 if left >= 1.0 else left, now)
        return 0.0 if left >= 1.0 else (1.0 - left) / self.per_second
