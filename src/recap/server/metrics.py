"""What the service counts: for Prometheus, and for its own page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from recap.audit import Verdict
from recap.claims import Graph
from recap.policy import Policy
from recap.policy.drift import Drift, DriftMonitor
from recap.policy.monitor import RiskMonitor

LATENCY = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
SIZES = (1, 2, 4, 8, 16, 32, 64)
GAUGES = {
    "recap_waiting": "Audits waiting for their turn.",
    "recap_coverage": "Share accepted of recent audits.",
    "recap_drift_distance": "Distance of recent risks from calibration's.",
    "recap_drift_moved": "1 if risks have moved from calibration.",
    "recap_risk_breached": "1 if labels say that the risk is larger than promised.",
}

M = TypeVar("M", Counter, Gauge, Histogram)


class Metrics:
    """Counters of one service. Nothing here holds a picture, a question or a token."""

    def __init__(self, policy: Policy | None, graph: Graph) -> None:
        self.registry, self.graph = CollectorRegistry(), graph
        self.monitor = None if policy is None else DriftMonitor(policy)
        promised = None if policy is None else policy.guarantee
        watch = RiskMonitor() if promised is None else RiskMonitor(promised.risk_at_most, promised.of)
        self.risk = None if policy is None else watch
        self.audits = self._made(
            Counter, "recap_audits", "Audits by verdict, family and witness.", ["verdict", "family", "witness"]
        )
        self.refused = self._made(Counter, "recap_refused", "Requests refused, by status.", ["status"])
        self.guarded = self._made(
            Counter, "recap_guarded", "Answers of the upstream, by the guard's word on them.", ["verdict"]
        )
        self.seconds = self._made(Histogram, "recap_request_seconds", "Time to answer.", ["path"], buckets=LATENCY)
        self.batch = self._made(Histogram, "recap_batch_size", "Audits that shared a turn of the model.", buckets=SIZES)
        self.turn = self._made(Histogram, "recap_turn_seconds", "Time of a turn of the model.", buckets=LATENCY)
        self.gauges = [self._made(Gauge, name, about) for name, about in GAUGES.items()]

    def _made(self, kind: type[M], name: str, about: str, labels: Sequence[str] = (), **options: Any) -> M:
        return kind(name, about, labels, registry=self.registry, **options)

    def took_turn(self, size: int, seconds: float) -> None:
        """A turn of the model is over."""
        self.batch.observe(size)
        self.turn.observe(seconds)

    def audited(self, verdict: Verdict) -> None:
        """One more verdict."""
        witness = "none" if verdict.witness is None else verdict.witness.kind
        self.audits.labels(verdict.word, self.graph.family_of(verdict.row.relation), witness).inc()
        if self.monitor is not None and verdict.accepted is not None:
            self.monitor.observe(verdict.risk, verdict.accepted, verdict.row.unit)

    def drift(self) -> Drift | None:
        """Recent audits beside calibration; None where nothing is calibrated."""
        return None if self.monitor is None else self.monitor.state()

    def exposition(self, waiting: int) -> bytes:
        """Everything in Prometheus' text format."""
        now = self.drift() or Drift(0, None, 1.0, None, None, False)
        breached = self.risk is not None and self.risk.state().breached
        values = (waiting, now.coverage, now.distance, now.moved, breached)
        for gauge, value in zip(self.gauges, values, strict=True):
            gauge.set(math.nan if value is None else value)
        return generate_latest(self.registry)
