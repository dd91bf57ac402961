"""The further checkpoints: a smaller model and a newer architecture. A suite without them has its own stand in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product

from recap.evaluation.protocol import DEPLOYED
from recap.paper.experiments.experiment import Reads
from recap.paper.experiments.study import Setting, Study
from recap.policy import SELECTOR
from recap.report.result import Sheet

SELECTIVE = ("acc", "hfpr", "hall_auc")
STAND_IN = "This suite has no further checkpoint: its own models stand here."


def _reads(checkpoint: Callable[[Study], str | None]) -> Reads:
    def places(study: Study) -> Iterable[tuple[str, str]]:
        one = checkpoint(study)
        return product(study.headline if one is None else (one,), study.primary)

    return Reads(("further",), places, several=True)


SMALLER = _reads(lambda study: study.scale)
NEWER = _reads(lambda study: study.newer)


def held_out(settings: Sequence[Setting]) -> str:
    """How the figures were obtained."""
    return f"Held-out means ± standard deviation over {settings[0].splits} splits. Percent."


def put_deployment(sheet: Sheet, s: Setting) -> None:
    """What was deployed, and how often confidence was kept as a veto."""
    sheet.spread(s, DEPLOYED, s.held_out(DEPLOYED).values, ("coverage", "acc", "hfpr"))
    sheet.put(s, SELECTOR, {"eligible_n": s.held_out(DEPLOYED).modes[SELECTOR]})
