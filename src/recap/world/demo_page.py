"""The demonstration as one self-contained page: no script, no network, readable in the dark and on a phone."""

from __future__ import annotations

import io
import platform
from collections.abc import Sequence
from datetime import date
from typing import Any

import recap
from recap.report.charts import coverage_chart
from recap.report.example_card import ExampleCard, example_card
from recap.report.examples import Example
from recap.report.pages import render
from recap.world.bundled import MODELS
from recap.world.demo import COVERAGE, DATASET, Shown
from recap.world.scheme import open_image

PICTURE = 480
"""pixels of a picture on the page"""

CHOSEN = {
    "recap-img": "relation evidence alone (RECAP-Img)",
    "recap-selector": "relation evidence and confidence (RECAP-Selector)",
}
METRICS = ("acc", "hfpr", "hall_auc")


def demo_page(shown: Sequence[Shown], command: str) -> str:
    """The whole document."""
    return render(
        "world/demo_page.html",
        models=[_model(each) for each in shown],
        coverage=COVERAGE,
        examples=[world_card(example) for each in shown for example in each.examples],
        dataset=DATASET,
        command=command,
        statements=len(shown[0].table),
        date=date.today().isoformat(),
        version=f"recap {recap.__version__}, Python {platform.python_version()}",
    )


def world_card(example: Example) -> ExampleCard:
    """The card of an answer about a drawn scene."""
    stream = io.BytesIO()
    open_image(example.row.image or "", PICTURE).save(stream, "JPEG", quality=90)
    return example_card(example, stream.getvalue(), scene="A drawn scene")


def _model(shown: Shown) -> dict[str, Any]:
    gate = shown.policy.gate
    measured = {
        label: shown.result.inside[name].to_json() for name, label in (("confidence", "confidence"), ("recap", "RECAP"))
    }
    return {
        "name": shown.model,
        "about": MODELS[shown.model.removeprefix("world:")].capitalize(),
        "direct": shown.result.direct,
        "chosen": CHOSEN.get(shown.policy.mode, shown.policy.mode),
        "why": gate.verdict.split(": ", 1)[-1] if gate else "",
        "rows": {label: [found[metric] for metric in METRICS] for label, found in measured.items()},
        "chart": coverage_chart(shown.curves, "wrong among accepted", at=COVERAGE),
        "statements": len(shown.table),
        "probes": shown.probes,
        "seconds": shown.seconds,
        "splits": shown.result.splits,
    }
