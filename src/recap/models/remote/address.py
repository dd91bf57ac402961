"""Where a served model is, `http://host:port/v1#served-name`, and the key that opens it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from urllib.parse import urlsplit

from recap.errors import RecapError

KEYS = ("RECAP_API_KEY", "OPENAI_API_KEY")
"""environment variables that may hold the key, the first that is set counts; a key comes from nowhere else"""


def is_remote(name: str) -> bool:
    """Whether a model's name is the address of a server."""
    return name.lower().startswith(("http://", "https://"))


@dataclass(frozen=True)
class Address:
    """A server without its /v1, and the model that is meant, if one was named."""

    root: str
    name: str | None

    def __str__(self) -> str:
        return self.root


def parse_address(text: str) -> Address:
    """Read an address. It may hold no secret: addresses go into tables, stores and messages."""
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise RecapError("this is not an address: expected http://host:port/v1#served-name") from None
    if parts.username is not None or parts.password is not None:
        raise RecapError(f"the address holds a user or password; set {KEYS[0]} in the environment instead")
    if not host:
        raise RecapError(f"{text}: there is no host in this address: expected http://host:port/v1#served-name")
    if parts.query:
        raise RecapError(f"the address of {host} has a query (?…); expected http://host:port/v1#served-name")
    place = f"[{host}]" if ":" in host else host
    path = parts.path.rstrip("/").removesuffix("/v1").rstrip("/")
    return Address(f"{parts.scheme}://{place}{f':{port}' if port else ''}{path}", parts.fragment or None)


def is_loopback(address: Address) -> bool:
    """Whether the server is on this machine, so that no proxy stands between."""
    host = urlsplit(address.root).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


def api_key() -> str | None:
    """The key, from the environment alone."""
    return next((key for name in KEYS if (key := key_in(name))), None)


def key_in(name: str) -> str | None:
    """The key that an environment variable holds, if it does."""
    key = os.environ.get(name, "").strip()
    if key and not (key.isascii() and key.isprintable()):
        raise RecapError(f"${name} holds a character that a key cannot have")
    return key or None
