"""The guard's options of `recap serve`, checked before a model is loaded."""

from __future__ import annotations

from typing import Any

from recap.errors import RecapError
from recap.models.remote.address import is_remote, key_in, parse_address

KEY = "RECAP_UPSTREAM_KEY"
ON_REJECT = ("annotate", "replace")
LONGEST = 2000
"""characters of the sentence that replaces an answer"""


def guarding(
    upstream: str | None, on_reject: str | None, reject_text: str | None, timeout: float | None
) -> dict[str, Any]:
    """What a service must know of the server it guards; nothing where there is none."""
    if upstream is None:
        for option, value in (("on-reject", on_reject), ("reject-text", reject_text), ("upstream-timeout", timeout)):
            if value is not None:
                raise RecapError(f"--{option} belongs to --upstream")
        return {}
    if on_reject not in (None, *ON_REJECT):
        raise RecapError(f'--on-reject is "{on_reject}", but must be {" or ".join(ON_REJECT)}')
    told: dict[str, Any] = {
        "upstream": _root(upstream),
        "upstream_key": key_in(KEY),
        "on_reject": on_reject or ON_REJECT[0],
    }
    if reject_text is not None:
        if on_reject != "replace":
            raise RecapError("--reject-text belongs to --on-reject replace")
        if not reject_text.strip() or len(reject_text) > LONGEST:
            raise RecapError(f"--reject-text must have between 1 and {LONGEST} characters")
        told["reject_text"] = reject_text
    return told


def _root(upstream: str) -> str:
    """The address without its /v1. What is wrong with it is not repeated: it may hold a password."""
    try:
        address = parse_address(upstream)
    except RecapError:
        address = None
    if address is None or address.name is not None or not is_remote(address.root):
        raise RecapError(
            "--upstream is the address of a server, http://host:port/v1, without a user, a query or a model's name; "
            f"its key comes from ${KEY}"
        )
    return address.root
