"""What probing costs, in the paper's counting: one probe is two likelihood calls, one for yes and one for no."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from recap.claims import Claim, Graph
from recap.probes.plan import PROBE_SETS, plan_probes

CALLS_PER_PROBE = 2


def diagnostic_probes(claims: Sequence[Claim], graph: Graph | None = None) -> int:
    """The size of the complete diagnostic set as the runtime table counts it: every role is a probe of its own."""
    return sum(len(plan_probes(claim, "diagnostic", graph=graph).roles) for claim in claims if claim.covered)


def printed_calls(claims: Sequence[Claim], graph: Graph | None = None) -> dict[str, float]:
    """Mean likelihood calls per covered statement as the cost table prints them.

    Claim and contradictions are counted, and the direct question where it is another sentence; supports are counted
    only in `full`. What our plans really ask is `planned_calls`.
    """
    pair = _mean_calls(claims, lambda claim: 1 + len(claim.contradictions))
    direct = _mean_calls(claims, lambda claim: not _direct_is_claim(claim, graph))
    support = _mean_calls(claims, lambda claim: len(claim.supports))
    return {
        "confidence": float(CALLS_PER_PROBE),
        "recap-img": pair + direct,
        "recap-cal": 2 * pair + direct,
        "full": 2 * pair + direct + 2 * support,
    }


def planned_calls(claims: Sequence[Claim], graph: Graph | None = None) -> dict[str, float]:
    """Mean likelihood calls per covered statement of each probe set, when every statement is asked by itself."""
    return {
        name: _mean_calls(claims, lambda claim, name=name: len(plan_probes(claim, name, graph=graph).probes))
        for name in PROBE_SETS
    }


def _direct_is_claim(claim: Claim, graph: Graph | None) -> bool:
    roles = plan_probes(claim, "img", graph=graph).roles
    direct = next(role.probe for role in roles if role.kind == "direct")
    return any(role.probe == direct for role in roles if role.kind == "claim")


def _mean_calls(claims: Sequence[Claim], probes: Callable[[Claim], int]) -> float:
    calls = [CALLS_PER_PROBE * probes(claim) for claim in claims if claim.covered]
    return sum(calls) / len(calls) if calls else 0.0
