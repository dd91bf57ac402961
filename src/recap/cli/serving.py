"""Running the service until it is told to stop."""

from __future__ import annotations

import socket
from collections.abc import Callable
from types import FrameType

from recap.cli.console import notice
from recap.errors import RecapError, reason
from recap.server.service import Service


def listen(service: Service, host: str, port: int) -> None:
    """Serve until TERM or INT; what was accepted by then is still answered."""
    try:
        import uvicorn

        from recap.server.app import create_app
    except ImportError as error:
        raise RecapError(f"{error.name} is not installed: the service needs pip install 'recap-vlm[server]'") from None
    app = create_app(service)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as door:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            door.bind((host, port))
        except (OSError, OverflowError) as error:
            why = reason(error) if isinstance(error, OSError) else "no such port"
            raise RecapError(f"cannot listen on {host}:{port}: {why}") from None
        shown = f"[{host}]" if ":" in host else host
        address = f"http://{shown}:{door.getsockname()[1]}"
        model = service.auditor.model.identity.name
        notice(f"{model} at {address}/ (the page), {address}/v1/audit (the API); stop with Ctrl-C")
        if service.upstream is not None:
            notice(f"before {service.upstream}: {address}/v1/chat/completions (the guard, {service.on_reject})")
        # uvicorn's own log would name every caller; the counters at /metrics say enough.
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=10,
            timeout_graceful_shutdown=60,
            h11_max_incomplete_event_size=64 << 10,
        )
        server = uvicorn.Server(config)
        server.handle_exit = _leaving(service, server.handle_exit)
        server.run(sockets=[door])


def _leaving(service: Service, handle: Callable[[int, FrameType | None], None]) -> Callable[..., None]:
    """The service is told first, so that its last answers say that the connection ends with them."""

    def told(number: int, frame: FrameType | None) -> None:
        service.leaving.set()
        handle(number, frame)

    return told
