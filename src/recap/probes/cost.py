"""What probing costs, in the paper's counting: one probe is two likelihood calls, one for yes and one for no."""

from __future__ import annotations

from collections.abc import Sequence

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
    covered = [claim for claim in claims if claim.covered]
    pair = _mean([CALLS_PER_PROBE * (1 + len(claim.contradictions)) for claim in covered])
    direct = _mean([0.0 if _direct_is_claim(claim, graph) else CALLS_PER_PROBE for claim in covered])
    support = _mean([CALLS_PER_PROBE * len(claim.supports) for claim in covered])
    return {
        "confidence": float(CALLS_PER_PROBE),
        "recap-img": pair + direct,
        "recap-cal": 2 * pair + direct,
        "full": 2 * pair + direct + 2 * support,
    }


def planned_calls(claims: Sequence[Claim], graph: Graph | None = None) -> dict[str, float]:
    """Mean likelihood calls per covered statement of each probe set, when every statement is asked by itself."""
    covered = [claim for claim in claims if claim.covered]
    return {
        name: _mean([CALLS_PER_PROBE * len(plan_probes(claim, name, graph=graph).probes) for claim in covered])
        for name in PROBE_SETS
    }


def _direct_is_claim(claim: Claim, graph: Graph | None) -> bool:
    roles = plan_probes(claim, "img", graph=graph).roles
    direct = next(role.probe for role in roles if role.kind == "direct")
    return any(role.probe == direct for role in roles if role.kind == "claim")


def _mean(values: Sequence[float]) -> float:
    return float(sum(values) / len(values)) if values else 0.0
