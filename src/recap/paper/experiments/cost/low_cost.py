"""Low-cost equivalence: a risk computed from its own probes alone is the risk computed from all (text:low-cost).

Two checks: the formula reads no other margin, and a small probe set that is asked by itself gives the same margins.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from recap.claims import Graph
from recap.evaluation.metrics import measure as metrics_of
from recap.paper.experiment import MAIN, Reads, Result, Setting, Sheet, Study, Whole, experiment
from recap.risks import RISKS, compute_risk, offered
from recap.statistics import accept_lowest
from recap.table import Direct, MarginTable, Row

VARIANTS = ("confidence", "prompt-sc", "anti-delta", "recap-img", "recap-cal", "recap-selector")


@experiment(
    "Low-cost equivalence",
    "text:low-cost",
    reads=Reads(("primary", "reprobed"), MAIN.places),
    risks=(),
    optional=VARIANTS,
)
def measure(_: Study, settings: list[Setting]) -> Result:
    """Does a risk stay the same when only the probes it needs are asked?"""
    sheet = Sheet(
        "text:low-cost",
        "Required probes against all probes",
        "Every risk and its pooled metrics computed again from copies of the rows that hold only the margins it needs, "
        "and from a part of the statements that was asked again with a small probe set alone; the largest differences "
        "from the complete rows.",
    )
    kept = Sheet(
        "own:low-cost",
        "Margins that a risk reads",
        "Mean number of margins per statement in the copies, beside all that were measured (complete); n statements "
        "were asked again with the smallest probe set that has these margins, which moved a risk by at most so much.",
    )
    checks: list[tuple[float, float]] = []
    again: list[int] = []
    for s in settings:
        kept.put(s, "complete", {"margins": margins_per_row(s.table)})
        for name in filter(s.allows, VARIANTS):
            reduced = only(s.table, RISKS[name].needs)
            checks.append(differences(s, name, reduced))
            kept.put(s, name, {"margins": margins_per_row(reduced)})
            asked = next((table for table in s.reprobed.values() if name in offered(table)[0]), None)
            if asked is not None:
                metric, risk = differences(s, name, asked)
                checks[-1] = max(checks[-1][0], metric), max(checks[-1][1], risk)
                again.append(len(asked))
                kept.put(s, name, {"n": len(asked), "risk_difference": risk})
    if not checks:
        return Result()
    metric, risk = (max(column) for column in zip(*checks, strict=True))
    figures = {"checks": len(checks), "metric_difference": metric, "risk_difference": risk}
    sheet.put(Whole(settings[0].coverage), "", figures)
    repeated = "Only the formula was checked: no statement was probed again."
    if again:
        repeated = f"In {len(again)} of them up to {max(again)} statements were also asked again, with a small "
        repeated += "probe set alone: another batch may move the last digits of a margin."
    return Result((sheet.table, kept.table), (finding(len(checks), metric, risk), repeated))


def differences(s: Setting, name: str, reduced: MarginTable) -> tuple[float, float]:
    """The largest difference of any pooled metric and of any row's risk, among the rows of `reduced`."""
    ids = {row.id for row in reduced.rows}
    complete = s.table.where(np.array([row.id in ids for row in s.table.rows]))
    risks = [compute_risk(table, name) for table in (reduced, complete)]
    one, other = (
        metrics_of(risk, accept_lowest(risk, s.coverage), table.yes, table.positive)
        for risk, table in zip(risks, (reduced, complete), strict=True)
    )
    return max(_apart(one[metric], other[metric]) for metric in one), float(np.abs(risks[0] - risks[1]).max())


def _apart(one: float, other: float) -> float:
    if math.isnan(one) or math.isnan(other):
        return 0.0 if math.isnan(one) and math.isnan(other) else math.inf
    return abs(one - other)


def only(table: MarginTable, needs: Sequence[str]) -> MarginTable:
    """The same rows with these inputs and no others. The audited answer stays: it is what is judged, not a probe."""
    kinds: dict[str, list[str]] = {"direct": []}
    for source, _, kind in (need.partition(".") for need in needs):
        kinds.setdefault(source, []).append(kind)
    direct = kinds.pop("direct")
    asked = {
        claim: {channel: _relations(table.graph, claim, some) for channel, some in kinds.items()}
        for claim in {row.claim for row in table.rows if row.claim is not None}
    }
    rows = tuple(_reduced(row, direct, asked[row.claim] if row.claim else {}) for row in table.rows)
    return MarginTable(rows, table.graph, table.source, table.places)


def _relations(graph: Graph, claim: str, kinds: Iterable[str]) -> tuple[str, ...]:
    """The relations whose margins these kinds of input are."""
    of = {"claim": (claim,), "contradictions": graph.contradictions(claim), "supports": tuple(graph.supports(claim))}
    return tuple(relation for kind in kinds for relation in of[kind])


def _reduced(row: Row, direct: Sequence[str], asked: Mapping[str, Sequence[str]]) -> Row:
    margins = {
        channel: {name: value for name in names if (value := row.margin(channel, name)) is not None}
        for channel, names in asked.items()
    }
    # What was valid stays valid: nothing is checked again.
    answers = Direct.model_construct(**{kind: getattr(row.direct, kind) for kind in direct})
    return row.model_copy(update={"answer": "yes" if row.says_yes else "no", "direct": answers, "margins": margins})


def margins_per_row(table: MarginTable) -> float:
    """How many margins a row holds on average."""
    single = ("image", "text", "ca_bidirectional", "ca_combined")
    total = 0
    for row in table.rows:
        total += sum(getattr(row.direct, name) is not None for name in single) + len(row.direct.paraphrases or ())
        total += sum(value is not None for margins in row.margins.values() for value in (margins or {}).values())
    return total / len(table)


def finding(checks: int, metric: float, risk: float) -> str:
    """Whether leaving probes out changed anything."""
    if metric == risk == 0:
        return f"In {checks} checks, leaving out the probes that a risk does not read changed no risk and no metric."
    return f"In {checks} checks, leaving out unread probes changed a risk by up to {risk:g} and a metric by {metric:g}."
