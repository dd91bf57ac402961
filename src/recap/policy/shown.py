"""A policy as a notebook shows it."""

from __future__ import annotations

from recap.policy.policy import Policy
from recap.tabular import Tabular


def policy_table(policy: Policy) -> Tabular:
    """What a person wants to know first: what it accepts, what is promised, and what it was fitted on."""
    counts = policy.counts
    told = {
        "mode": policy.mode,
        "accepts": f"risk ≤ {policy.threshold:.4g}, {policy.coverage:.0%} of answers",
        "promise": policy.promise,
        "gate": "" if policy.gate is None else policy.gate.verdict,
        "fitted on": f"{counts.rows} rows in {counts.units} units, {counts.covered} of them inside the graph",
        "outside the graph": "nothing is accepted" if policy.fallback is None else "confidence decides",
        "model": policy.model or "unnamed",
    }
    return Tabular("RECAP policy", ("", ""), tuple((name, text) for name, text in told.items() if text))
