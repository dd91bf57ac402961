"""What the commands over tables do, as functions: tables or their files in, results out. The defaults are the same.

Probing and evaluating take files themselves: `recap.probe`, `recap.evaluate`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from recap.claims import Graph
from recap.errors import RecapError
from recap.files import refuse_overwriting
from recap.policy import (
    Decision,
    Event,
    Policy,
    calibrate_table,
    certify_table,
    check_policy,
    load_policy,
    rank_on,
    save_policy,
)
from recap.policy import decide as decide_table
from recap.policy.policy import FIRST_STAGE
from recap.policy.queue import review_queue, with_labels
from recap.policy.repair import REPAIR_RISK
from recap.risks import compute_risk, offered
from recap.table import MarginTable, Row, as_table

File = str | Path
COVERAGE = 0.8
CONFIDENCE_LEVEL = 0.9
"""of a guarantee, unless another is asked for"""


def score(
    table: MarginTable | File,
    risk: Sequence[str] | None = None,
    *,
    calibration: MarginTable | File | None = None,
    graph: Graph | File | None = None,
) -> list[dict[str, Any]]:
    """The named risks of each row, or all that the table allows: id, answer, risks. None outside the relation graph."""
    rows = as_table(table, graph)
    reference = None if calibration is None else as_table(calibration, graph)
    names = offered(rows)[0] if risk is None else risk
    columns = {name: compute_risk(rows, name, reference).tolist() for name in names}
    return [
        {
            "id": row.id,
            "answer": "yes" if row.says_yes else "no",
            "risks": {name: None if math.isnan(values[i]) else values[i] for name, values in columns.items()},
        }
        for i, row in enumerate(rows.rows)
    ]


def calibrate(
    table: MarginTable | File,
    out: File | None = None,
    *,
    coverage: float | None = None,
    risk_at_most: float | None = None,
    confidence: float | None = None,
    of: Event | None = None,
    per: str | None = None,
    gate: str | None = None,
    mode: str | None = None,
    first: float | None = None,
    target_scores: MarginTable | File | None = None,
    presuppositions: MarginTable | File | None = None,
    level: float = 0.95,
    graph: Graph | File | None = None,
    any_model: bool = False,
    repair: bool = False,
    repair_at_most: float | None = None,
    undecided: bool = False,
) -> Policy:
    """A policy from the labelled rows, written to `out` where that is given.

    It accepts a share `coverage` of them, 0.8 unless told otherwise. With `risk_at_most` it accepts as many as it can
    while at most that share of the accepted are bad, with this `confidence` (0.9): wrong answers, or with
    `of="hallucination"` false assertions; `per="family"` keeps that for each relation family. Where the rows cannot
    show it, an error says what they can. The mode is chosen by the accuracy of what is accepted (`gate="utility"`, with
    20 units or more), or as in the paper, by whether confidence may be a veto (`gate="paper"`). With `target_scores`
    the threshold is ranked on those rows, whose labels are not looked at. What texts suppose is calibrated on the
    existence rows and the claims about absent things of `table`, or on those of `presuppositions`, which then calibrate
    nothing else.

    With `repair` the opposite answer is offered where enough speaks for it: at most a share `repair_at_most` of such
    corrections is wrong (`risk_at_most` where that is given, else 0.1), with this `confidence`. With `undecided` an
    answer cannot be told where claim and contradiction are affirmed or denied together and labels show nothing.
    """
    if first is not None and mode != "staged":
        raise RecapError("--first belongs to --mode staged")
    given = (each for each in (table, target_scores, presuppositions) if not isinstance(each, MarginTable))
    refuse_overwriting(out, *given)
    if risk_at_most is None and (of, per) != (None, None):
        raise RecapError("--of and --per belong to --risk-at-most")
    if risk_at_most is None and confidence is not None and not repair:
        raise RecapError("--confidence belongs to --risk-at-most or --repair")
    if repair_at_most is not None and not repair:
        raise RecapError("--repair-at-most belongs to --repair")
    if target_scores is not None and (repair or undecided):
        raise RecapError("--repair and --undecided rest on labels; --target-scores ranks a threshold without them")
    if risk_at_most is not None and coverage is not None:
        raise RecapError("give --coverage or --risk-at-most: one fixes how many are accepted, the other how many err")
    if risk_at_most is not None and target_scores is not None:
        raise RecapError("a guarantee holds where the labels are; --target-scores ranks a threshold elsewhere")
    rows = as_table(table, graph)
    target = None if target_scores is None else as_table(target_scores, graph)
    first_stage = FIRST_STAGE if first is None else first
    supposed = None if presuppositions is None else as_table(presuppositions, graph)
    surely = CONFIDENCE_LEVEL if confidence is None else confidence
    asked = (each for each in (repair_at_most, risk_at_most, REPAIR_RISK) if each is not None)
    wrong = next(asked) if repair else None
    more: dict[str, Any] = {"mode": mode, "level": level, "gate": gate, "repair": wrong, "undecided": undecided}
    more["presuppositions"] = supposed
    if risk_at_most is not None:
        policy = certify_table(rows, risk_at_most, surely, of=of or "error", per=per, **more)
    else:
        share = COVERAGE if coverage is None else coverage
        policy = calibrate_table(rows, share, first_stage=first_stage, repair_confidence=surely, **more)
    if target is not None:
        policy = rank_on(policy, target, any_model=any_model)
    if out is not None:
        save_policy(policy, out)
    return policy


def decide(
    policy: Policy | File,
    table: MarginTable | File,
    *,
    graph: Graph | File | None = None,
    force: bool = False,
    any_model: bool = False,
) -> Iterator[Decision]:
    """The decision for each row, in order, under a policy or the one in this file."""
    frozen = policy if isinstance(policy, Policy) else load_policy(policy)
    return decide_table(frozen, as_table(table, graph), force=force, any_model=any_model)


def queue(
    policy: Policy | File,
    table: MarginTable | File,
    *,
    number: int = 20,
    graph: Graph | File | None = None,
    any_model: bool = False,
) -> list[Row]:
    """The unlabelled rows whose labels would teach a policy most: nearest to its threshold, one of each unit first."""
    frozen = policy if isinstance(policy, Policy) else load_policy(policy)
    rows = as_table(table, graph)
    check_policy(frozen, rows.graph, rows.model, rows.source, any_model=any_model)
    return review_queue(frozen, rows, number)


def label(table: MarginTable | File, labels: MarginTable | File, *, graph: Graph | File | None = None) -> MarginTable:
    """The table with the labels that another one has for rows of the same id."""
    return with_labels(as_table(table, graph), as_table(labels, graph))
