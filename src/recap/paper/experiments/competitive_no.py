"""A "no" whose contradiction must outdo the claim (Table competitive-no), and the answers that this is about."""

from __future__ import annotations

import math

from recap.paper.experiments.allowing import allowing
from recap.paper.experiments.experiment import Experiment
from recap.paper.experiments.study import Setting, Study
from recap.paper.experiments.telling import span, tally
from recap.policy import IMG
from recap.report.result import Result, Sheet
from recap.risks import Margins
from recap.statistics import accept_lowest, errors, share
from recap.table import Bools

COMPETITIVE, TEXT = "competitive-no", "text:competitive-no"
METRICS = ("acc@80", "hfpr@80", "err_auc", "hall_auc")


def measure(study: Study) -> Result:
    """What the competitive "no" changes on held-out units, and how RECAP-Img treats jointly positive "no" answers."""
    sheet = Sheet(
        COMPETITIVE,
        'A competitive "no" instead of RECAP-Img\'s',
        "Competitive-no minus RECAP-Img, mean ± standard deviation over the splits, on held-out units. Points.",
    )
    joint = Sheet(
        "own:competitive-no",
        '"No" answers with a positive claim and a positive contradiction',
        "Their share of all rows, the share of them that RECAP-Img accepts at exact 80 % pooled coverage, and the "
        "error rate of those accepted. Percent.",
    )
    text = Sheet(
        TEXT,
        "Where claim and contradiction are both affirmed, from the least to the largest",
        'The same figures over all models and benchmarks: "no" answers with a positive claim and a positive '
        "contradiction.",
    )
    models = (*study.headline, *(m for m in (study.scale, study.newer) if m is not None))
    settings, missing = allowing(study.of(models, study.primary), IMG, COMPETITIVE)
    for s in settings:
        sheet.spread(_changes(s), model=s.model, data=s.data, method=COMPETITIVE)
        joint.put(_treated(s), model=s.model, data=s.data, method=IMG)
    for metric in dict.fromkeys(n.metric for n in joint.numbers):
        known = [n.value for n in joint.numbers if n.metric == metric and not math.isnan(n.value)] or [math.nan]
        text.put({f"least.{metric}": min(known), f"most.{metric}": max(known)}, method=IMG, scale=1)
    return Result(
        (sheet.table, text.table, joint.table),
        (_effect(study, settings, sheet), *_regime(settings)),
        missing=(*missing, *study.absent(models, study.primary)),
    )


def jointly_positive(s: Setting) -> Bools:
    """Rows answered "no" although both the claim and its strongest contradiction are affirmed on the image."""
    image = Margins(s.table).image
    return ~s.table.yes & (image.claim > 0) & (image.contradiction > 0)


def _changes(s: Setting) -> dict[str, list[float]]:
    """By split; the predicted-yes rows are scored alike, so all of it comes from the "no" branch."""
    ours, theirs = s.held_out(COMPETITIVE).values, s.held_out(IMG).values
    names = {f"change.{metric}": metric.removesuffix("@80") for metric in METRICS}
    return {change: [a - b for a, b in zip(ours[m], theirs[m], strict=True)] for change, m in names.items()}


def _treated(s: Setting) -> dict[str, float]:
    chosen = jointly_positive(s)
    accepted = accept_lowest(s.risk(IMG), s.coverage)
    return {
        "jointly_positive": float(chosen.mean()),
        "jointly_positive.coverage@80": share(accepted, chosen),
        "jointly_positive.err@80": share(errors(s.table.yes, s.table.positive), chosen & accepted),
    }


def _effect(study: Study, settings: list[Setting], sheet: Sheet) -> str:
    ranking, asserted = (
        [n.value / 100 for n in sheet.numbers if n.metric == f"change.{metric}"] for metric in ("hall_auc", "hfpr@80")
    )
    fewer = [-change for change in asserted]
    return (
        f"Making the contradiction outdo the claim raises held-out Hall-AUC in {tally(study, settings, ranking)}, "
        f"{span(ranking)}, and lowers H-FPR@80 in {tally(study, settings, fewer)}, {span(asserted)}."
    )


def _regime(settings: list[Setting]) -> list[str]:
    found = [_treated(s) for s in settings]
    told = [f'Jointly positive "no" answers are {_range([f["jointly_positive"] for f in found])} of all rows.']
    kept = [f["jointly_positive.coverage@80"] for f in found if f["jointly_positive"] > 0]
    wrong = [f["jointly_positive.err@80"] for f in found if f["jointly_positive.coverage@80"] > 0]
    if kept and wrong:
        told.append(
            f"Where there are any, RECAP-Img accepts {_range(kept)} of them at 80 % coverage, and {_range(wrong)} of "
            "those accepted are wrong."
        )
    return told


def _range(shares: list[float]) -> str:
    low, high = f"{100 * min(shares):.1f}", f"{100 * max(shares):.1f}"
    return f"{low} %" if low == high else f"{low} to {high} %"


EXPERIMENT = Experiment(
    COMPETITIVE,
    'A competitive "no"',
    'Should a "no" need a contradiction that is stronger than the claim itself, where the model affirms both?',
    (COMPETITIVE, TEXT),
    measure,
)
