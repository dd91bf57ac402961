"""Running the service: its options checked before a model is loaded, then served until it is told to stop."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import FrameType
from typing import Any

from recap.audit import Auditor
from recap.errors import RecapError, reason
from recap.models.remote.address import is_remote, key_in, parse_address
from recap.server.answers import RejectRule
from recap.server.service import Limits, Service

LOOPBACK = ("127.0.0.1", "::1", "localhost")
TOKEN, UPSTREAM_KEY = "RECAP_TOKEN", "RECAP_UPSTREAM_KEY"
SHORTEST_TOKEN = 16
LONGEST_TEXT = 2000
"""characters of the sentence that replaces an answer"""
ON_REJECT = ("annotate", "replace")


def service_options(
    host: str,
    *,
    no_token: bool = False,
    allow_host: Sequence[str] = (),
    gather: int = Limits.gather,
    upstream: str | None = None,
    on_reject: str | None = None,
    reject_text: str | None = None,
    reject_when: str | None = None,
    upstream_timeout: float | None = None,
) -> dict[str, Any]:
    """The fields of a `Service` beside its auditor, from the options of `recap serve` and the environment."""
    token = os.environ.get(TOKEN) or None
    if token is not None and len(token) < SHORTEST_TOKEN:
        raise RecapError(f"${TOKEN} is too short to keep anyone out: give it at least {SHORTEST_TOKEN} characters")
    if host not in LOOPBACK and token is None and not no_token:
        raise RecapError(f"beyond loopback a token is required: set ${TOKEN}, or say --no-token if others keep watch")
    # On loopback without a token, the name that a browser calls is all that tells our page from a stranger's.
    hosts = frozenset(map(str.lower, (*LOOPBACK, *allow_host))) if host in LOOPBACK and token is None else None
    limits = Limits(gather=gather)
    if upstream_timeout is not None:
        limits = replace(limits, upstream_seconds=upstream_timeout)
    guard = _guard_options(upstream, on_reject, reject_text, upstream_timeout)
    if reject_when is not None:
        if upstream is None:
            raise RecapError("--reject-when belongs to --upstream")
        RejectRule.of(reject_when)
        guard["reject_when"] = reject_when
    return {"limits": limits, "token": token, "hosts": hosts, **guard}


def _guard_options(
    upstream: str | None, on_reject: str | None, reject_text: str | None, timeout: float | None
) -> dict[str, Any]:
    if upstream is None:
        for option, value in (("on-reject", on_reject), ("reject-text", reject_text), ("upstream-timeout", timeout)):
            if value is not None:
                raise RecapError(f"--{option} belongs to --upstream")
        return {}
    if on_reject not in (None, *ON_REJECT):
        raise RecapError(f'--on-reject is "{on_reject}", but must be {" or ".join(ON_REJECT)}')
    if reject_text is not None and on_reject != "replace":
        raise RecapError("--reject-text belongs to --on-reject replace")
    if reject_text is not None and (not reject_text.strip() or len(reject_text) > LONGEST_TEXT):
        raise RecapError(f"--reject-text must have between 1 and {LONGEST_TEXT} characters")
    chosen = {"on_reject": on_reject or ON_REJECT[0]} | ({} if reject_text is None else {"reject_text": reject_text})
    return {"upstream": _root(upstream), "upstream_key": key_in(UPSTREAM_KEY), **chosen}


def _root(upstream: str) -> str:
    """The address without its /v1. What is wrong with it is not repeated: it may hold a password."""
    try:
        address = parse_address(upstream)
    except RecapError:
        address = None
    if address is None or address.name is not None or not is_remote(address.root):
        raise RecapError(
            "--upstream is the address of a server, http://host:port/v1, without a user, a query or a model's name; "
            f"its key comes from ${UPSTREAM_KEY}"
        )
    return address.root


def serve(
    service: Service | Auditor, host: str = "127.0.0.1", port: int = 8765, say: Callable[[str], None] = lambda _: None
) -> None:
    """Serve until TERM or INT; what was accepted by then is still answered. `say` is given the addresses.

    An auditor by itself is served as `recap serve` would without further options.
    """
    if isinstance(service, Auditor):
        service = Service(service, **service_options(host))
    try:
        import uvicorn

        from recap.server.app import create_app
    except ImportError as error:
        raise RecapError(f"{error.name} is not installed: the service needs pip install 'recap-vlm[server]'") from None
    app = create_app(service)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With its protocol named, asyncio sets TCP_NODELAY on the connections.
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except (OSError, OverflowError) as error:
            why = reason(error) if isinstance(error, OSError) else "no such port"
            raise RecapError(f"cannot listen on {host}:{port}: {why}") from None
        address = f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"
        model = service.auditor.model.identity.name
        say(f"{model} at {address}/ (the page), {address}/v1/audit (the API); stop with Ctrl-C")
        if service.upstream is not None:
            say(f"before {service.upstream}: {address}/v1/chat/completions (the guard, {service.on_reject})")
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,  # it would name every caller; the counters at /metrics say enough
            server_header=False,
            date_header=False,
            timeout_keep_alive=10,
            timeout_graceful_shutdown=60,
            h11_max_incomplete_event_size=64 << 10,
        )
        server = uvicorn.Server(config)
        handle_exit = server.handle_exit

        def leave(sig: int, frame: FrameType | None) -> None:
            service.leaving.set()  # first, so that the last answers say that the connection ends with them
            handle_exit(sig, frame)

        server.handle_exit = leave
        server.run(sockets=[listener])
