"""The review queue: nearest to the threshold first, a unit once before twice, and labels find their way back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import recap
from recap.table import MarginTable
from tests.simulate import ALIGNED, simulate


def unlabelled(table: MarginTable) -> MarginTable:
    return MarginTable(tuple(row.model_copy(update={"label": None}) for row in table.rows), table.graph, "new.jsonl")


@pytest.fixture(scope="module")
def policy() -> recap.Policy:
    return recap.calibrate(simulate(ALIGNED, 80, 1))


def test_the_nearest_to_the_threshold_come_first_each_from_another_unit(policy: recap.Policy) -> None:
    table = unlabelled(simulate(ALIGNED, 40, 2))
    rows = recap.queue(policy, table, number=40)
    assert len({row.unit for row in rows}) == 40
    risk = dict(zip((row.id for row in table.rows), policy.apply(policy.scores(table)).risk, strict=True))
    order = np.sort(list(risk.values()))

    def far(name: str) -> int:
        place, limit = (int(np.searchsorted(order, value, "right")) for value in (risk[name], policy.threshold))
        return abs(place - limit)

    distances = [far(row.id) for row in rows]
    assert distances == sorted(distances)
    for row in rows:
        assert far(row.id) <= min(far(other.id) for other in table.rows if other.unit == row.unit)
    assert len(recap.queue(policy, table, number=1000)) == len(table)


def test_labels_come_back_into_the_table(policy: recap.Policy) -> None:
    known = simulate(ALIGNED, 40, 2)
    truth = {row.id: row.label for row in known.rows}
    rows = recap.queue(policy, unlabelled(known), number=30)
    filled = MarginTable(tuple(row.model_copy(update={"label": truth[row.id]}) for row in rows), known.graph, "filled")
    labelled = recap.label(unlabelled(known), filled)
    assert {row.id: row.label for row in labelled.rows if row.label} == {row.id: truth[row.id] for row in rows}
    assert labelled.labelled.sum() == 30


def test_what_does_not_fit_is_refused(policy: recap.Policy) -> None:
    known = simulate(ALIGNED, 4, 2)
    with pytest.raises(recap.RecapError, match="every row has a label"):
        recap.queue(policy, known)
    with pytest.raises(recap.RecapError, match="no row has a label"):
        recap.label(known, unlabelled(known))
    stranger = replace(known, rows=(known.rows[0].model_copy(update={"id": "other"}),))
    with pytest.raises(recap.RecapError, match='"other" is no row of'):
        recap.label(unlabelled(known), stranger)
    other = "no" if known.rows[0].label == "yes" else "yes"
    wrong = replace(known, rows=(known.rows[0].model_copy(update={"label": other}),))
    with pytest.raises(recap.RecapError, match="is labelled"):
        recap.label(known, wrong)
