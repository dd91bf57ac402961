"""Audited answers to show: which of them, whether the verdict was right, and each as a card of a page."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass

from recap.audit import Verdict
from recap.errors import RecapError
from recap.policy import Decision
from recap.report.charts import margin_bars, risk_scale
from recap.table import Row

KINDS = {b"\xff\xd8\xff": "jpeg", b"\x89PNG": "png"}


@dataclass(frozen=True)
class Example:
    """One audited answer, and what is true."""

    model: str
    row: Row
    verdict: Verdict

    @property
    def rightly(self) -> str:
        """rightly or wrongly: a right answer should be accepted, a wrong one rejected"""
        return "rightly" if self.verdict.accepted == (self.verdict.answer == self.row.label) else "wrongly"


def pick(decisions: Sequence[Decision], rows: Sequence[Row], count: int) -> list[Row]:
    """Answers to show: wrong ones that were rejected first, then right ones that were accepted, never a relation twice.

    A demonstration shows what the method does where it works; how often it does is in the table beside it.
    """

    def margin(i: int) -> float:
        return abs((decisions[i].risk or 0.0) - (decisions[i].threshold or 0.0))

    caught = [i for i, d in enumerate(decisions) if not d.accepted and d.answer != rows[i].label]
    kept = [i for i, d in enumerate(decisions) if d.accepted and d.answer == rows[i].label == "yes"]
    picked: list[Row] = []
    for pool, share in ((caught, count - 1), (kept, count)):
        for i in sorted(pool, key=lambda i: (-margin(i), i)):
            fresh = all(rows[i].relation != row.relation and rows[i].unit != row.unit for row in picked)
            if len(picked) < share and fresh:
                picked.append(rows[i])
    return picked


@dataclass(frozen=True)
class ExampleCard:
    """What a card shows: picture, verdict in words, probes and risk. `example_card.html` lays it out."""

    picture: bytes
    """a JPEG or PNG file"""
    alt: str
    question: str
    model: str
    answer: str
    accepted: bool
    rightly: str
    """rightly or wrongly, and what is true"""
    reason: str
    charts: tuple[str, ...] = ()
    """SVG"""

    @property
    def word(self) -> str:
        return "accepted" if self.accepted else "rejected"

    @property
    def source(self) -> str:
        """The picture inside the page."""
        kind = next((kind for magic, kind in KINDS.items() if self.picture.startswith(magic)), None)
        if kind is None:
            raise RecapError(f'the picture for "{self.question}" is neither JPEG nor PNG')
        return f"data:image/{kind};base64," + base64.b64encode(self.picture).decode()


def example_card(example: Example, picture: bytes, *, scene: str = "A picture") -> ExampleCard:
    """An audited answer; `picture` is its JPEG or PNG file, `scene` what it is, for those who cannot see it."""
    verdict, row = example.verdict, example.row
    truth = "true" if row.label == "yes" else "false"
    charts = [margin_bars([(probe.role, probe.question, probe.margin) for probe in verdict.probes])]
    if verdict.standing.risk is not None and verdict.standing.threshold is not None:
        charts.append(risk_scale(verdict.standing.risk, verdict.standing.threshold, bool(verdict.accepted)))
    reason = re.sub(r"(?<!\S)(\(?)-(?=\d)", r"\1−", verdict.reason.split("; risk ")[0])
    return ExampleCard(
        picture=picture,
        alt=f"{scene}: {row.subject} and {row.object}",
        question=verdict.question,
        model=example.model,
        answer=verdict.answer,
        accepted=bool(verdict.accepted),
        rightly=f"{example.rightly}: in the picture it is {truth}",
        reason=reason[:1].upper() + reason[1:] + ".",
        charts=tuple(charts),
    )
