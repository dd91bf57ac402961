"""One audited answer as a card of a page: its picture, the verdict in words, its probes and its risk."""

from __future__ import annotations

import base64
from dataclasses import dataclass

from recap.errors import RecapError
from recap.report.charts import margin_bars, risk_scale
from recap.report.examples import Example

KINDS = {b"\xff\xd8\xff": "jpeg", b"\x89PNG": "png"}


@dataclass(frozen=True)
class ExampleCard:
    """What a card shows. `example_card.html` lays it out."""

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
        """accepted or rejected"""
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
    return ExampleCard(
        picture=picture,
        alt=f"{scene}: {row.subject} and {row.object}",
        question=verdict.question,
        model=example.model,
        answer=verdict.answer,
        accepted=bool(verdict.accepted),
        rightly=f"{example.rightly}: in the picture it is {truth}",
        reason=_sentence(verdict.reason),
        charts=tuple(charts),
    )


def _sentence(reason: str) -> str:
    text = reason.split("; risk ")[0]
    return text[:1].upper() + text[1:] + "."
