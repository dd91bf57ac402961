"""What the service counts: for Prometheus, and for its own page."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from recap.audit import Verdict
from recap.claims import Graph
from recap.policy import Policy
from recap.policy.drift import Drift, DriftMonitor
from recap.policy.monitor import RiskMonitor
from recap.server.intake.bodies import Bodies
from recap.server.intake.images import PictureOpener
from recap.table import Row
from recap.texts import ClaimVerdict

LATENCY = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
SIZES = (1, 2, 4, 8, 16, 32, 64)
GAUGES = {
    "recap_waiting": "Audits waiting for their turn.",
    "recap_risk_breached": "1 if labels say that the risk is larger than promised.",
}
DRIFT_GAUGES = {
    "recap_coverage": "Share accepted of recent audits, by model.",
    "recap_drift_distance": "Distance of recent risks from calibration's, by model.",
    "recap_drift_moved": "1 if risks have moved from calibration, by model.",
}

M = TypeVar("M", Counter, Gauge, Histogram)


class Keeps(Protocol):
    """What keeps answers for people to look at."""

    def keep(self, row: Row) -> None: ...


class Metrics:
    """Counters of one service. Nothing here holds a picture, a question or a token."""

    def __init__(
        self, policy: Policy | None, graph: Graph, others: Mapping[str, Policy | None] | None = None, model: str = ""
    ) -> None:
        """The policy of the model of this name. `others` are further models that may answer, with their policies."""
        self.model = model
        self.registry, self.graph = CollectorRegistry(), graph
        self.review: Keeps | None = None
        """what else is told of every answer that has a verdict"""
        self.watch(policy)
        self.monitors |= {name: _monitor(each) for name, each in (others or {}).items()}
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
        self.drift_gauges = [self._made(Gauge, name, about, ["model"]) for name, about in DRIFT_GAUGES.items()]

    def watch(self, policy: Policy | None) -> None:
        """Compare from now on with this policy's calibration."""
        self.monitor = _monitor(policy)
        self.monitors: dict[str, DriftMonitor | None] = {}
        promised = None if policy is None else policy.guarantee
        watch = RiskMonitor() if promised is None else RiskMonitor(promised.risk_at_most, promised.of)
        self.risk = None if policy is None else watch

    def _made(self, kind: type[M], name: str, about: str, labels: Sequence[str] = (), **options: Any) -> M:
        return kind(name, about, labels, registry=self.registry, **options)

    def took_turn(self, size: int, seconds: float) -> None:
        """A turn of the model is over."""
        self.batch.observe(size)
        self.turn.observe(seconds)

    def audited(self, verdict: Verdict) -> None:
        """One more verdict."""
        self._counted(verdict, verdict.word)
        self._watched(verdict)

    def audited_text(self, claims: Iterable[ClaimVerdict]) -> None:
        """The verdicts on a text's claims. Whether something is there is no risk that could drift."""
        for each in claims:
            if isinstance(each.verdict, Verdict):
                self._counted(each.verdict, each.word)
                if each.claim.kind == "relation":
                    self._watched(each.verdict)

    def _counted(self, verdict: Verdict, word: str) -> None:
        witness = "none" if verdict.witness is None else verdict.witness.kind
        self.audits.labels(word, self.graph.family_of(verdict.row.relation), witness).inc()

    def _watched(self, verdict: Verdict) -> None:
        if self.review is not None and verdict.accepted is not None:
            self.review.keep(verdict.row)
        monitor = self.monitors.get(verdict.model or "", self.monitor)
        if monitor is not None and verdict.accepted is not None:
            monitor.observe(verdict.risk, verdict.accepted, verdict.row.unit)

    def drift(self, model: str = "") -> Drift | None:
        """Recent audits by a model beside its calibration; None where nothing is calibrated."""
        monitor = self.monitors.get(model, self.monitor)
        return None if monitor is None else monitor.state()

    def resources(self, pictures: PictureOpener, bodies: Bodies) -> None:
        """Show what is in use of each budget."""
        for name, about, value in (
            ("recap_held_pixels", "Pixels of pictures that are being audited.", lambda: pictures.held.used),
            ("recap_decoding_pixels", "Pixels of pictures that are being decoded.", lambda: pictures.pool.memory.used),
            ("recap_ahead_pictures", "Pictures opened before their answers have come.", lambda: len(pictures.ahead)),
            ("recap_decoders_lost", "Decoding processes that were ended at a limit.", lambda: pictures.pool.lost),
            ("recap_body_bytes", "Bytes of requests that are not answered yet.", lambda: bodies.size),
        ):
            self._made(Gauge, name, about).set_function(value)

    def exposition(self, waiting: int) -> bytes:
        """Everything in Prometheus' text format."""
        breached = self.risk is not None and self.risk.state().breached
        for gauge, value in zip(self.gauges, (waiting, breached), strict=True):
            gauge.set(value)
        for model in (self.model, *self.monitors):
            now = self.drift(model) or Drift(0, None, 1.0, None, None, False)
            for gauge, value in zip(self.drift_gauges, (now.coverage, now.distance, now.moved), strict=True):
                gauge.labels(model).set(math.nan if value is None else value)
        return generate_latest(self.registry)


def _monitor(policy: Policy | None) -> DriftMonitor | None:
    return None if policy is None else DriftMonitor(policy)
