"""Four-way choice: does a score put the true relation first among those offered (Table supp-choice-score-comparison)?

Also what the text says of the image margin over all groups: its interval, and how often the truth comes second.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from recap.arrays import Bools, Floats
from recap.evaluation.choices import Choices
from recap.evaluation.edges import contradiction, learn_edges, retained
from recap.evaluation.splits import calibration_rows
from recap.paper.experiment import CONFIDENCE, CONTROLLED, Metric, Result, Setting, Sheet, Study, experiment, points
from recap.report.result import LackingError, Number
from recap.risks import Margins
from recap.risks.equations import evidence, lift
from recap.statistics import SEED, draw_units, interval

TABLE, TEXT, OWN = "supp-choice-score-comparison", "text:choice", "own:choice"
IMAGE, LIFT, FIXED, VALIDATED = "image-margin", "claim-lift", "fixed-graph", "validated-graph"
TITLES = {IMAGE: "the image margin", LIFT: "the claim's lift", FIXED: "the fixed graph", VALIDATED: "validated edges"}
DEPTH = "depth"

Score = Callable[[Bools], Floats]
"""from the groups that calibrate to a score of every row"""


@experiment("Choosing among relations", TABLE, TEXT, reads=CONTROLLED, risks=(CONFIDENCE,))
def measure(study: Study, settings: list[Setting]) -> Result:
    """Of several relations offered for one pair, which score puts the true one first: the direct margin, its lift over
    the text, or competition along the fixed or the validated edges?"""
    pairs, missing = grouped(study, settings)
    groups = sorted({int((~fixed_split(s)[choices.gold]).sum()) for s, choices in pairs})
    table = Sheet(
        TABLE,
        "Choosing among the relations offered",
        f"{' or '.join(map(str, groups))} held-out groups of the split with seed 13; edges are validated on its other "
        "groups. Ties count against the true relation. Percent.",
    )
    own = Sheet(OWN, "The same over all splits", "Held-out means ± standard deviation over the splits. Percent.")
    text = Sheet(
        TEXT,
        "The image margin over all groups",
        "All groups; ± is half the width of the 95 % percentile interval over bootstrap draws of whole units. "
        "choice.second is the share of wrong choices in which the true relation comes second. Percent; errors counted.",
    )
    findings: list[str] = []
    for s, choices in pairs:
        scores, lacking = candidate_scores(s, choices)
        missing += lacking
        held: dict[str, dict[str, float]] = {}
        for method, score in scores.items():
            held[method] = _held_out(choices, score, fixed_split(s))
            table.put(s, method, held[method], subset="choice")
            over = s.over_splits(lambda _, side, choices=choices, score=score: _held_out(choices, score, side))
            own.spread(s, method, over, subset="choice")
        _all_groups(text, s, choices)
        findings.append(_finding(study, s, choices, held))
    return Result((table.table, text.table, own.table), tuple(findings), missing=missing)


def grouped(study: Study, settings: list[Setting]) -> tuple[list[tuple[Setting, Choices]], tuple[str, ...]]:
    """Those of these settings with their choice groups, and a sentence for each that has none."""
    pairs = [(s, Choices.of(s.table)) for s in settings]
    none = [study.name(s) for s, choices in pairs if not len(choices)]
    missing = tuple(f"{name}: no two statements about one pair of which one is true" for name in none)
    return [(s, choices) for s, choices in pairs if len(choices)], missing


def fixed_split(s: Setting) -> Bools:
    """The rows that calibrate in the paper's one split of the choice groups, that of seed 13 (646 groups held out)."""
    return calibration_rows([row.unit for row in s.table.rows], SEED)


def candidate_scores(s: Setting, choices: Choices) -> tuple[dict[str, Score], tuple[str, ...]]:
    """The four scores of an option, as far as the table has their margins; the last needs calibration groups."""
    image, text = choices.margin, s.table.direct("text")
    scores: dict[str, Score] = {IMAGE: lambda _: image}
    missing: list[str] = []
    if np.isnan(text).any():
        missing.append(f"{s.model} on {s.data}: {LIFT}: direct.text is missing")
    else:
        scores[LIFT] = lambda _: lift(image, text)
    try:
        s.need("recap-cal")
        x = Margins(s.table).lift
        fixed = evidence(x.claim, x.contradiction, x.support_penalty)
        scores[FIXED] = lambda _: fixed
    except LackingError as error:
        missing.append(str(error).replace("recap-cal", FIXED))
    scores[VALIDATED] = lambda groups: evidence(
        image, contradiction(choices, retained(learn_edges(choices, groups))), 0.0
    )
    return scores, tuple(missing)


def placed(ranks: NDArray[np.int64]) -> dict[str, Floats]:
    """What each group's rank of the true option counts for accuracy, reciprocal rank and top-2 recall."""
    return {"acc": (ranks == 1).astype(float), "mrr": 1 / ranks, "top2": (ranks <= 2).astype(float)}


def _held_out(choices: Choices, score: Score, side: Bools) -> dict[str, float]:
    """The three metrics on the groups whose rows do not calibrate."""
    calibrates = side[choices.gold]
    ranks = choices.ranks(score(calibrates))[~calibrates]
    return {name: float(values.mean()) if len(values) else np.nan for name, values in placed(ranks).items()}


def _all_groups(sheet: Sheet, s: Setting, choices: Choices) -> None:
    """The image margin on every group, with the half-widths of its intervals."""
    ranks = choices.ranks(choices.margin)
    _, units = np.unique(s.table.units[choices.gold], return_inverse=True)
    units = units.reshape(-1)
    counts = draw_units(int(units.max()) + 1, s.draws).astype(np.int64)
    deep = np.array([s.table.families[row] == DEPTH for row in choices.gold.tolist()], dtype=bool)
    everywhere = np.ones(len(choices), dtype=bool)
    figures = {name: (values, everywhere) for name, values in placed(ranks).items()}
    figures["depth_acc"] = (figures["acc"][0], deep)
    for name, (values, among) in figures.items():
        point, half = _mean_interval(values[among], units[among], counts)
        metric = Metric(name, "choice")
        sheet.numbers.append(Number(TEXT, s.model, s.data, IMAGE, metric, 100 * point, 100 * half))
        if among is deep:
            sheet.put(s, IMAGE, {"depth_half_width": half}, subset="choice")
    wrong = ranks > 1
    second = float((ranks[wrong] == 2).mean()) if wrong.any() else np.nan
    sheet.put(s, IMAGE, {"second": second, "errors": wrong.sum()}, subset="choice")


def _mean_interval(values: Floats, units: NDArray[np.intp], counts: NDArray[np.int64]) -> tuple[float, float]:
    """A mean over groups, and half the width of its interval when whole units are drawn."""
    if not len(values):
        return np.nan, np.nan
    total = np.bincount(units, minlength=len(counts)) @ counts
    summed = np.bincount(units, weights=values, minlength=len(counts)) @ counts
    drawn = np.where(total > 0, summed / np.maximum(total, 1), np.nan)
    around = interval(float(values.mean()), drawn)
    return around.point, (around.high - around.low) / 2


def _finding(study: Study, s: Setting, choices: Choices, held: dict[str, dict[str, float]]) -> str:
    """Which scores choose better or worse than the image margin alone, and what it misses."""
    base = held[IMAGE]["acc"]
    ranks = choices.ranks(choices.margin)
    wrong, second = int((ranks > 1).sum()), int((ranks == 2).sum())
    others = {TITLES[method]: each["acc"] for method, each in held.items() if method != IMAGE}
    changes = ", ".join(f"{points(acc - base)} points with {title}" for title, acc in others.items())
    first = f"{TITLES[IMAGE]} puts {100 * base:.1f} % of the held-out truths first; {changes}"
    misses = f"in {second} of its {wrong} wrong choices the truth comes second" if wrong else "it is never wrong"
    held_out = "no group is held out" if np.isnan(base) else first
    return f"{study.name(s)}: {held_out}. Over all {len(choices)} groups {misses}."
