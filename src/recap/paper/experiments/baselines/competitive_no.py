"""A "no" whose contradiction must outdo the claim (Table competitive-no), and the answers that this is about."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

from recap.paper.experiment import FOUR, IMG, Metric, Reads, Result, Sheet, Whole, experiment, span, tally
from recap.paper.study import Setting, Study, changes
from recap.risks import Margins
from recap.statistics import accept_lowest, errors, share
from recap.table import Bools

COMPETITIVE, TEXT = "competitive-no", "text:competitive-no"
JOINT = "jointly_positive"


def _every_model(study: Study) -> Iterable[tuple[str, str]]:
    return product(filter(None, (*study.headline, study.scale, study.newer)), study.primary)


@experiment(
    'A competitive "no"', COMPETITIVE, TEXT, reads=Reads(("primary", "further"), _every_model), risks=(IMG, COMPETITIVE)
)
def measure(study: Study, settings: list[Setting]) -> Result:
    """Should a "no" need a contradiction that is stronger than the claim itself, where the model affirms both?"""
    sheet = Sheet(
        COMPETITIVE,
        'A competitive "no" instead of RECAP-Img\'s',
        "Competitive-no minus RECAP-Img, mean ± standard deviation over the splits, on held-out units. Points.",
    )
    joint = Sheet(
        "own:competitive-no",
        '"No" answers with a positive claim and a positive contradiction',
        f"Their share of all rows, the share of them that RECAP-Img accepts at exact {study.percent} pooled coverage, "
        "and the error rate of those accepted. Percent.",
    )
    text = Sheet(
        TEXT,
        "Where claim and contradiction are both affirmed, from the least to the largest",
        'The same figures over all models and benchmarks: "no" answers with a positive claim and a positive '
        "contradiction.",
    )
    treated = [_treated(s) for s in settings]
    coverage = settings[0].coverage
    metrics = (Metric(JOINT), Metric("coverage", JOINT, coverage=coverage), Metric("err", JOINT, coverage=coverage))
    for s, shares in zip(settings, treated, strict=True):
        # The predicted-yes rows are scored alike, so all of the change comes from the "no" branch.
        ours, theirs = s.held_out(COMPETITIVE).values, s.held_out(IMG).values
        sheet.spread(s, COMPETITIVE, {n: changes(ours[n], theirs[n]) for n in FOUR}, difference="change")
        joint.put(s, IMG, dict(zip(metrics, shares, strict=True)))
    for metric, over in zip(metrics, zip(*treated, strict=True), strict=True):
        text.extremes(Whole(coverage), IMG, metric, over)
    findings = (_effect(study, settings, sheet), *_regime(study, treated))
    return Result((sheet.table, text.table, joint.table), findings)


def jointly_positive(s: Setting) -> Bools:
    """Rows answered "no" although both the claim and its strongest contradiction are affirmed on the image."""
    image = Margins(s.table).image
    return ~s.table.yes & (image.claim > 0) & (image.contradiction > 0)


def _treated(s: Setting) -> tuple[float, float, float]:
    """The share of jointly positive "no" answers, of those accepted among them, and of wrong ones among the latter."""
    chosen = jointly_positive(s)
    accepted = accept_lowest(s.risk(IMG), s.coverage)
    wrong = errors(s.table.yes, s.table.positive)
    return float(chosen.mean()), share(accepted, chosen), share(wrong, chosen & accepted)


def _effect(study: Study, settings: list[Setting], sheet: Sheet) -> str:
    ranking, asserted = (
        [sheet.value(s, COMPETITIVE, name, difference="change") / 100 for s in settings]
        for name in ("hall_auc", "hfpr")
    )
    fewer = tally(study, settings, [-change for change in asserted])
    return (
        f"Making the contradiction outdo the claim raises held-out Hall-AUC in {tally(study, settings, ranking)}, "
        f"{span(ranking)}, and lowers {study.heading('hfpr')} in {fewer}, {span(asserted)}."
    )


def _regime(study: Study, treated: list[tuple[float, float, float]]) -> list[str]:
    findings = [f'Jointly positive "no" answers are {_range([there for there, _, _ in treated])} of all rows.']
    kept = [accepted for there, accepted, _ in treated if there > 0]
    wrong = [wrong for _, accepted, wrong in treated if accepted > 0]
    if kept and wrong:
        findings.append(
            f"Where there are any, RECAP-Img accepts {_range(kept)} of them at {study.percent} coverage, and "
            f"{_range(wrong)} of those accepted are wrong."
        )
    return findings


def _range(shares: list[float]) -> str:
    low, high = f"{100 * min(shares):.1f}", f"{100 * max(shares):.1f}"
    return f"{low} %" if low == high else f"{low} to {high} %"
