"""A new policy without a restart: read and checked first, and put in force only if it fits."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from recap.errors import RecapError
from recap.policy import check_policy, load_policy
from recap.server.logs import event
from recap.server.metrics import Metrics
from recap.server.service import Service

_ONE_AT_A_TIME = threading.Lock()


def reload_policy(service: Service, metrics: Metrics) -> str:
    """Put the policy file's present content in force. RecapError says why not; the old one then stays."""
    if service.policy_file is None:
        raise RecapError("there is no --policy to read again")
    auditor = service.auditor
    with _ONE_AT_A_TIME:
        policy = load_policy(service.policy_file)
        check_policy(policy, auditor.graph, str(auditor.model.identity), "the audit", any_model=auditor.any_model)
        auditor.policy = policy
        metrics.watch(policy)
    return f"{policy.mode}, coverage {policy.coverage:g}, threshold {policy.threshold:g}"


def listen_for_hangup(reload: Callable[[], str], policy_file: Path | None) -> None:
    """On HUP, reload in a thread of its own; whatever comes of it is told, and the service goes on."""

    def work() -> None:
        try:
            told = reload()
        except RecapError as error:
            event(f"policy not reloaded, the old one stays in force: {error}", logging.WARNING)
        except Exception:  # a file may hold anything, and the old policy is still good
            event("policy not reloaded, the old one stays in force", logging.ERROR)
        else:
            event(f"policy reloaded: {told}", file=str(policy_file))

    def hung_up(_signal: int, _frame: FrameType | None) -> None:
        threading.Thread(target=work, name="reload", daemon=True).start()

    if hasattr(signal, "SIGHUP") and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGHUP, hung_up)
