"""What the service counts: for Prometheus, and for its own page."""

from __future__ import annotations

import math

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from recap.audit import Verdict
from recap.claims import Graph
from recap.policy import Policy
from recap.policy.drift import Drift, DriftMonitor

LATENCY = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
SIZES = (1, 2, 4, 8, 16, 32, 64)


class Metrics:
    """Counters of one service. Nothing here holds a picture, a question or a token."""

    def __init__(self, policy: Policy | None, graph: Graph) -> None:
        self.registry, self.graph = CollectorRegistry(), graph
        self.monitor = None if policy is None else DriftMonitor(policy)
        self.audits = Counter(
            "recap_audits", "Audits by verdict, family and witness.", ["verdict", "family", "witness"],
            registry=self.registry,
        )  # fmt: skip
        self.refused = Counter("recap_refused", "Requests refused, by status.", ["status"], registry=self.registry)
        self.guarded = Counter(
            "recap_guarded", "Answers of the upstream, by the guard's word on them.", ["verdict"],
            registry=self.registry,
        )  # fmt: skip
        self.seconds = Histogram(
            "recap_request_seconds", "Time to answer.", ["path"], buckets=LATENCY, registry=self.registry
        )
        self.batch = Histogram(
            "recap_batch_size", "Audits that shared a turn of the model.", buckets=SIZES, registry=self.registry
        )
        self.turn = Histogram(
            "recap_turn_seconds", "Time of a turn of the model.", buckets=LATENCY, registry=self.registry
        )
        self.waiting = Gauge("recap_waiting", "Audits waiting for their turn.", registry=self.registry)
        self.coverage = Gauge("recap_coverage", "Share accepted of recent audits.", registry=self.registry)
        self.distance = Gauge(
            "recap_drift_distance", "Distance of recent risks from calibration's.", registry=self.registry
        )
        self.moved = Gauge(
            "recap_drift_moved", "1 if recent risks have moved from calibration.", registry=self.registry
        )

    def took_turn(self, size: int, seconds: float) -> None:
        """A turn of the model is over."""
        self.batch.observe(size)
        self.turn.observe(seconds)

    def audited(self, verdict: Verdict) -> None:
        """One more verdict."""
        witness = "none" if verdict.witness is None else verdict.witness.kind
        self.audits.labels(verdict.word, self.graph.family_of(verdict.row.relation), witness).inc()
        if self.monitor is not None and verdict.accepted is not None:
            self.monitor.observe(verdict.risk, verdict.accepted)

    def drift(self) -> Drift | None:
        """Recent audits beside calibration; None where nothing is calibrated."""
        return None if self.monitor is None else self.monitor.state()

    def exposition(self, waiting: int) -> bytes:
        """Everything in Prometheus' text format."""
        now = self.drift() or Drift(0, None, 1.0, None, None, False)
        self.waiting.set(waiting)
        self.coverage.set(math.nan if now.coverage is None else now.coverage)
        self.distance.set(math.nan if now.distance is None else now.distance)
        self.moved.set(now.moved)
        return generate_latest(self.registry)
