"""A smaller model (Table qwen2b-scale-supp).

Pooled, for the paper's table cannot be held out: with the veto in all 20 What'sUp splits its RECAP-Selector would
have to equal what was deployed, and does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product

from recap.paper.experiment import DEPLOYED, FOUR, Reads, Result, Setting, Sheet, Study, experiment
from recap.policy import CONFIDENCE, IMG, SELECTOR

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


@experiment("A smaller model", "qwen2b-scale-supp", "text:qwen2b", reads=SMALLER)
def measure(study: Study, settings: list[Setting]) -> Result:
    """Do both modes of RECAP, and the gate between them, still help a smaller checkpoint?"""
    about = f"Pooled over all units at exact {study.percent} coverage."
    table = Sheet("qwen2b-scale-supp", "Both modes on a smaller model", about)
    text = Sheet(
        "text:qwen2b",
        "What was deployed",
        f"{held_out(settings)} Err-AUC is pooled; splits that kept confidence as a veto are counted.",
    )
    held = Sheet("own:qwen2b-held-out", "The same modes, held out", held_out(settings))
    for s in settings:
        for method in (CONFIDENCE, IMG, SELECTOR):
            table.put(s, method, s.pooled(method), SELECTIVE)
            text.put(s, method, s.pooled(method), ("err_auc",))
            held.spread(s, method, s.held_out(method).values, FOUR)
        put_deployment(text, s)
    stand_in = [STAND_IN] if study.scale is None else []
    findings = (*stand_in, *(_modes(study, table, s) for s in settings))
    return Result((table.table, text.table, held.table), findings)


def _modes(study: Study, table: Sheet, s: Setting) -> str:
    """What each mode changes against confidence, and which one the gate chose."""

    def change(mode: str) -> str:
        return " / ".join(f"{table.value(s, mode, name) - table.value(s, CONFIDENCE, name):+.1f}" for name in SELECTIVE)

    kept = s.held_out(DEPLOYED).modes[SELECTOR]
    return (
        f"{study.name(s)}: against confidence, {' / '.join(map(study.heading, SELECTIVE))} change by {change(IMG)} "
        f"points with RECAP-Img and by {change(SELECTOR)} with RECAP-Selector; the gate kept confidence as a veto in "
        f"{kept} of {s.splits} splits."
    )
