"""Running the service: its options checked before a model is loaded, then served until it is told to stop."""

from __future__ import annotations

import contextlib
import os
import resource
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

from recap.answers import RejectRule
from recap.audit import Auditor
from recap.errors import RecapError, one_of, reason
from recap.models.remote.address import is_remote, key_in, parse_address
from recap.server import logs
from recap.server.memory import return_freed_memory
from recap.server.reload import listen_for_hangup, reload_policy
from recap.server.service import Limits, Service
from recap.server.tokens import TOKEN, read_tokens, token_in_environment

LOOPBACK = ("127.0.0.1", "::1", "localhost")
UPSTREAM_KEY = "RECAP_UPSTREAM_KEY"
LONGEST_REJECTION = 2000
"""characters of the sentence that replaces an answer"""
ON_REJECT = ("annotate", "replace")
ON_FAILURE = ("pass", "reject")
LOGS = ("off", "json", "questions")
FILES_PER_CONNECTION = 2
"""one to the caller, and one to the upstream"""


def service_options(
    host: str,
    *,
    no_token: bool = False,
    allow_host: Sequence[str] = (),
    tokens: Path | None = None,
    rate: float | None = None,
    log: str = "off",
    connections: int | None = None,
    workers: int | None = None,
    memory: int | None = None,
    gather: int = Limits.gather,
    upstream: str | None = None,
    on_reject: str | None = None,
    reject_text: str | None = None,
    reject_when: str | None = None,
    on_failure: str | None = None,
    upstream_timeout: float | None = None,
) -> dict[str, Any]:
    """The fields of a `Service` beside its auditor, from the options of `recap serve` and the environment."""
    token = token_in_environment()
    named = {} if tokens is None else read_tokens(tokens)
    if host not in LOOPBACK and token is None and not named and not no_token:
        raise RecapError(f"beyond loopback a token is required: set ${TOKEN}, or say --no-token if others keep watch")
    # On loopback without a token, the name that a browser calls is all that tells our page from a stranger's.
    open_here = host in LOOPBACK and token is None and not named
    others = frozenset(map(str.lower, allow_host))
    one_of(log, LOGS, "a way to log")
    limits = Limits(gather=gather)
    given = {"upstream_seconds": upstream_timeout, "connections": connections, "workers": workers}
    limits = replace(limits, **{name: value for name, value in given.items() if value is not None})
    if memory is not None:
        limits = limits.within(memory << 20)
    guard = _guard_options(upstream, on_reject, reject_text, reject_when, on_failure, upstream_timeout)
    found = {"limits": limits, "token": token, "hosts": others | frozenset(LOOPBACK) if open_here else None, **guard}
    more = {"tokens": named, "rate": rate, "allowed_hosts": others}
    more |= {"log_requests": log != "off", "log_questions": log == "questions"}
    return found | {name: value for name, value in more.items() if value}


def _guard_options(
    upstream: str | None,
    on_reject: str | None,
    reject_text: str | None,
    reject_when: str | None,
    on_failure: str | None,
    timeout: float | None,
) -> dict[str, Any]:
    """What is done with answers, of an upstream or of those whom LiteLLM's guardrail route serves."""
    if upstream is None and timeout is not None:
        raise RecapError("--upstream-timeout belongs to --upstream")
    if on_failure not in (None, *ON_FAILURE):
        raise RecapError(f'--on-failure is "{on_failure}", but must be {" or ".join(ON_FAILURE)}')
    if on_reject not in (None, *ON_REJECT):
        raise RecapError(f'--on-reject is "{on_reject}", but must be {" or ".join(ON_REJECT)}')
    # Who calls the guardrail may wish for a replacement whatever stands here.
    if reject_text is not None and on_reject != "replace" and (upstream is not None or on_reject is not None):
        raise RecapError("--reject-text belongs to --on-reject replace")
    if reject_text is not None and (not reject_text.strip() or len(reject_text) > LONGEST_REJECTION):
        raise RecapError(f"--reject-text must have between 1 and {LONGEST_REJECTION} characters")
    if reject_when is not None:
        RejectRule.of(reject_when)
    given = {"on_reject": on_reject, "reject_text": reject_text, "on_failure": on_failure, "reject_when": reject_when}
    chosen = {name: value for name, value in given.items() if value is not None}
    if upstream is None:
        return chosen
    return {"upstream": _root(upstream), "upstream_key": key_in(UPSTREAM_KEY), "on_reject": ON_REJECT[0]} | chosen


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


def wait_asleep() -> None:
    """Let threads that compute one operation wait for each other asleep; OpenMP reads it when torch is imported.

    Spinning, as they do by default, one of them keeps busy the core that the other needs as soon as anything else runs
    on the machine: an audit of a photograph then took two seconds instead of a quarter of one.
    """
    if "torch" not in sys.modules:
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def _allow_files(connections: int) -> None:
    """Let the process open as many files as its connections need, where the system lets it."""
    wanted = FILES_PER_CONNECTION * connections + 256
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted if hard < 0 else min(wanted, hard), hard))


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
        from recap.server.protocol import LimitedProtocol
    except ImportError as error:
        raise RecapError(f"{error.name} is not installed: the service needs pip install 'recap-vlm[server]'") from None
    logs.set_up(as_json=service.log_requests)
    app = create_app(service)
    _allow_files(service.limits.connections)
    return_freed_memory()
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
        models = " and ".join(each.model.identity.name for each in service.auditors.values())
        say(f"{models} at {address}/ (the page), {address}/v1/audit (the API); stop with Ctrl-C")
        if service.upstream is not None:
            say(f"before {service.upstream}: {address}/v1/chat/completions (the guard, {service.on_reject})")
            chosen = "reject" if service.fails_closed else "pass"
            say(f"what is done with answers whose audit cannot be made: {chosen} (--on-failure)")
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,  # it would name every caller; the counters at /metrics say enough
            server_header=False,
            date_header=False,
            timeout_keep_alive=10,
            timeout_graceful_shutdown=60,
            http=LimitedProtocol,
            ws="none",
            log_config=None,
            backlog=2 * service.limits.connections,
            h11_max_incomplete_event_size=64 << 10,
        )
        server = uvicorn.Server(config)
        handle_exit = server.handle_exit

        def leave(sig: int, frame: FrameType | None) -> None:
            service.leaving.set()  # first, so that the last answers say that the connection ends with them
            handle_exit(sig, frame)

        server.handle_exit = leave
        LimitedProtocol.connections_limit = service.limits.connections
        LimitedProtocol.head_seconds = service.limits.head_seconds
        listen_for_hangup(lambda: reload_policy(service, app.state.metrics), service.policy_file)
        if not app.state.pictures.pool.revive():
            raise RecapError("no process can be started that decodes pictures")
        server.run(sockets=[listener])
