"""The deployment protocol: confidence, visual contrast and deployed RECAP on held-out units (Table main-results)."""

from __future__ import annotations

from collections.abc import Mapping

from recap.evaluation.result import Measured
from recap.paper.experiment import CONFIDENCE, DEPLOYED, FOUR, IMG, SELECTOR, Result, Sheet, experiment
from recap.paper.study import Setting, Study, mean_defined
from recap.statistics import Interval

CONTRAST = "vcd-contrast"
METHODS = (CONFIDENCE, CONTRAST, DEPLOYED)
HEADLINE = ("hfpr", "hall_auc")
"""what the findings speak of"""


@experiment("Main results", "main-results", "text:main-results", optional=(CONTRAST,))
def measure(study: Study, settings: list[Setting]) -> Result:
    """Does deployed RECAP reject wrong answers better than plain confidence and than visual contrast, on units that
    calibration has not seen?"""
    sheet = Sheet(
        "main-results",
        "Confidence, visual contrast and deployed RECAP",
        "Held-out means ± standard deviation over the splits; a fifth of the units fixes threshold and mode.",
    )
    modes = Sheet(
        "text:main-results",
        "How often the gate kept confidence as a veto, and what RECAP gained",
        "Splits in which it did; differences of the held-out means to confidence's, + is better.",
    )
    for s in settings:
        for method in filter(s.allows, METHODS):
            sheet.spread(s, method, s.held_out(method).values, FOUR)
        modes.put(s, SELECTOR, {"eligible_n": s.held_out(DEPLOYED).modes[SELECTOR]})
        modes.put(s, DEPLOYED, gains(s.evaluation.inside), difference="gain")
    return Result((sheet.table, modes.table), tuple(regime(study, s) for s in settings))


def gains(risks: Mapping[str, Measured]) -> dict[str, float]:
    """What deployed RECAP is better by than confidence, by the means over the splits."""
    ours, plain = (risks[method].values for method in (DEPLOYED, CONFIDENCE))
    return {name: sign * (mean_defined(ours[name]) - mean_defined(plain[name])) for name, sign in FOUR.items()}


def regime(study: Study, s: Setting) -> str:
    """Which mode a model got and what RECAP changed, with its paired intervals, whichever way it went."""
    chosen = s.held_out(DEPLOYED).modes
    mode = (
        f"confidence stayed as a veto in {chosen[SELECTOR]} of {s.splits} splits"
        if s.mode == SELECTOR
        else f"relation evidence alone was chosen in {chosen[IMG]} of {s.splits} splits"
    )
    headings = {study.heading(name): s.evaluation.gains[s.mode][name] for name in HEADLINE}
    changed = " and ".join(
        f"{study.heading(name)} went from {_mean(s, CONFIDENCE, name)} to {_mean(s, DEPLOYED, name)}"
        for name in HEADLINE
    )
    intervals = " and ".join(
        f"{100 * gain.point:+.1f} [{100 * gain.low:+.1f}, {100 * gain.high:+.1f}]" for gain in headings.values()
    )
    return (
        f"{study.name(s)}: {mode}. {verdict(headings)}: {changed} on held-out units; paired gains over confidence "
        f"{intervals} points, 95 % intervals."
    )


def verdict(gains: Mapping[str, Interval]) -> str:
    """Whether RECAP helped, as far as the intervals of its gains say; by the metrics' headings."""
    better = [heading for heading, gain in gains.items() if gain.low > 0]
    worse = [heading for heading, gain in gains.items() if gain.high < 0]
    if better and not worse:
        return "RECAP helped" if len(better) == len(gains) else f"RECAP helped in {better[0]} only"
    if worse and not better:
        return "RECAP did not help, it did worse" + ("" if len(worse) == len(gains) else f" in {worse[0]}")
    if better and worse:
        return f"RECAP helped in {better[0]} and did worse in {worse[0]}"
    return "RECAP did not help, the difference is within chance"


def _mean(s: Setting, method: str, name: str) -> str:
    mean = mean_defined(s.held_out(method).values[name])
    return "no value" if mean != mean else f"{100 * mean:.1f}"
