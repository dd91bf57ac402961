"""What probing took: the size of the complete diagnostic set, and wall-clock time (Table runtime-summary)."""

from __future__ import annotations

import math

from recap.paper.experiment import Result, Setting, Sheet, Spent, Study, experiment
from recap.paper.experiments.cost.probe_cost import claims_of, distinct_probes
from recap.probes import diagnostic_probes

METHOD = "recap-vcd"


@experiment("Runtime", "runtime-summary", risks=())
def measure(study: Study, settings: list[Setting]) -> Result:
    """How long does it take to ask everything that the diagnostics need?"""
    sheet = Sheet(
        "runtime-summary",
        "Probes and wall-clock time",
        "Every probe that this report needs of the statements inside the graph, which is more than the paper's "
        "diagnostic set: how many were timed, the minutes that took on the machine that computed them first (scaled up "
        "where a part was in the store already), and seconds per statement inside the graph.",
    )
    own = Sheet(
        "own:runtime",
        "Probes as they were asked",
        "diagnostic: the complete diagnostic set of the statements inside the graph, in the paper's counting; "
        "distinct: different questions about different views among them, a picture's statements together.",
    )
    counted: dict[str, str] = {}
    findings: list[str] = []
    missing: list[str] = []
    for s in settings:
        claims = claims_of(s.table)
        ours: dict[str, float] = {
            "diagnostic": diagnostic_probes(claims, s.table.graph),
            "distinct": distinct_probes(claims, s.table, "diagnostic"),
        }
        if s.spent is None:
            missing.append(f"{study.name(s)}: not timed: these margins were not probed here")
        else:
            probes, seconds = s.spent.probes, s.spent.seconds
            timed = {"probes": probes, "minutes": seconds / 60, "sec_per_sample": seconds / len(s.table)}
            sheet.put(s, METHOD, timed)
            ours["probes_per_second"] = speed = rate(s.spent)
            findings.append(f"{study.name(s)}: {probes:,} probes in {seconds / 60:.1f} minutes, {speed:.0f} a second.")
        own.put(s, METHOD, ours)
        counted.setdefault(
            s.data,
            f"{study.title(s.data)}: the diagnostic set counts {ours['diagnostic']:,} probes, of which "
            f"{ours['distinct']:,} are different questions about different views.",
        )
    return Result((sheet.table, own.table), (*counted.values(), *findings), missing=tuple(missing))


def rate(spent: Spent) -> float:
    """Probes a second; no value where no time was measured."""
    return spent.probes / spent.seconds if spent.seconds > 0 else math.nan
