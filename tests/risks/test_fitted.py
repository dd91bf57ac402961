"""The supervised controls: logistic models fitted on calibration rows alone, against scikit-learn's own pipeline."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import recap
from recap.errors import RecapError
from recap.evaluation import evaluate
from recap.evaluation.splits import calibration_rows
from recap.risks import FITTED, RISKS, compute_risk, offered
from recap.table import MarginTable
from tests.simulate import ALIGNED, simulate
from tests.tables import fields, random_rows, table_of


def halves(seed: int = 0) -> tuple[MarginTable, MarginTable]:
    table = table_of(*random_rows(seed, 120))
    side = calibration_rows([row.unit for row in table.rows], 0)
    return table.where(side), table.where(~side)


def test_conf_anslogit_is_a_logistic_model_of_confidence_answer_and_both() -> None:
    calibration, held = halves()

    def features(table: MarginTable) -> np.ndarray:
        m = np.abs([row.direct.image for row in table.rows])
        yes = np.array([row.says_yes for row in table.rows], float)
        return np.stack([m, yes, m * yes], axis=1)

    wrong = [row.says_yes != (row.label == "yes") for row in calibration.rows]
    model = make_pipeline(StandardScaler(), LogisticRegression(C=1.0, max_iter=2000)).fit(features(calibration), wrong)
    expected = model.predict_proba(features(held))[:, 1]
    assert compute_risk(held, "conf-anslogit", calibration) == pytest.approx(expected, abs=1e-6)


def test_probe_logit_sees_every_margin_and_the_family() -> None:
    calibration, held = halves(1)
    families = ("depth", "left_right", "topology", "vertical")

    def features(table: MarginTable) -> np.ndarray:
        rows = []
        for row, family in zip(table.rows, table.families, strict=True):
            claim = row.claim or ""
            against = [row.margin("image", name) or 0.0 for name in table.graph.contradictions(claim)]
            support = [row.margin("image", name) or 0.0 for name in table.graph.supports(claim)] or [0.0]
            rows.append(
                [row.direct.image, row.margin("image", claim), *against, *support, *(family == f for f in families)]
            )
        return np.array(rows, float)

    wrong = [row.says_yes != (row.label == "yes") for row in calibration.rows]
    model = make_pipeline(StandardScaler(), LogisticRegression(C=1.0, max_iter=2000)).fit(features(calibration), wrong)
    expected = model.predict_proba(features(held))[:, 1]
    assert compute_risk(held, "probe-logit", calibration) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("name", FITTED)
def test_labels_that_are_held_out_change_nothing(name: str) -> None:
    calibration, held = halves(2)
    turned = tuple(row.model_copy(update={"label": "no" if row.label == "yes" else "yes"}) for row in held.rows)
    other = MarginTable(turned, held.graph, source="turned")
    assert compute_risk(other, name, calibration).tolist() == compute_risk(held, name, calibration).tolist()


@pytest.mark.parametrize("name", FITTED)
def test_where_nothing_ever_went_wrong_all_risks_are_equal(name: str) -> None:
    rows = [row | {"answer": row["label"]} for row in random_rows(3, 40)]
    right = table_of(*rows)
    assert set(compute_risk(right, name, right).tolist()) == {0.0}


@pytest.mark.parametrize("name", FITTED)
def test_a_rows_risk_does_not_depend_on_the_claims_that_others_make(name: str) -> None:
    """Claims have different numbers of edges; what is fitted reads each of them by its place."""
    table = simulate(ALIGNED, 40, 1)
    whole = compute_risk(table, name, table)
    relations = np.array([row.relation for row in table.rows])
    for relation in np.unique(relations):
        mine, others = (
            MarginTable(tuple(row for row in table.rows if (row.relation == relation) == wanted), table.graph)
            for wanted in (True, False)
        )
        assert compute_risk(mine, name, table) == pytest.approx(whole[relations == relation], abs=1e-9)
        # Nor does a fit on some claims fail on others.
        assert len(compute_risk(others, name, mine)) == len(others)


@pytest.mark.parametrize("mode", FITTED)
def test_a_policy_of_a_fitted_mode_decides_one_answer_as_it_decides_many(mode: str) -> None:
    table = simulate(ALIGNED, 40, 1)
    policy = recap.calibrate(table, mode=mode)
    many = list(recap.decide(policy, table))
    for i in range(0, len(table), 7):
        [alone] = recap.decide(policy, MarginTable((table.rows[i],), table.graph))
        assert (alone.accepted, alone.risk) == (many[i].accepted, pytest.approx(many[i].risk, abs=1e-9))


def test_logit_hall_ranks_hallucinations_it_was_fitted_on_better_than_any_part_of_it() -> None:
    from recap.statistics import auroc

    table = table_of(*random_rows(4, 200))
    hall = table.yes & ~table.positive
    fused = auroc(compute_risk(table, "logit-hall", table), hall)
    assert fused > max(
        auroc(compute_risk(table, part), hall) for part in ("confidence", "vcd-contrast", "recap-img", "recap-cal")
    )


def test_a_fitted_risk_without_calibration_or_labels_is_refused_in_one_line() -> None:
    _, held = halves(5)
    with pytest.raises(RecapError, match="risk probe-logit is fitted on calibration rows"):
        compute_risk(held, "probe-logit")
    unlabelled = table_of(*(fields(str(i), label=None) for i in range(4)))
    with pytest.raises(RecapError, match="risk conf-anslogit is fitted on labelled rows, and this has none"):
        compute_risk(held, "conf-anslogit", unlabelled)


def test_a_table_without_degraded_margins_lacks_only_the_richest_one() -> None:
    rows = [
        row | {"margins": {k: v for k, v in row["margins"].items() if k != "degraded"}} for row in random_rows(6, 40)
    ]
    names, withheld = offered(table_of(*rows), fitted=True)
    assert {"conf-anslogit", "probe-logit"} <= set(names)
    assert withheld["logit-hall"] == "degraded.claim is missing"
    assert not set(FITTED) & set(offered(table_of(*rows))[0])


def test_evaluate_reports_them_on_held_out_rows_only() -> None:
    table = table_of(*random_rows(7, 150))
    found = evaluate(table, splits=3, draws=10, risks=["confidence", "conf-anslogit"]).to_json()
    assert 0.5 < found["risks"]["conf-anslogit"]["err_auc"] <= 1
    assert list(found["pooled"]) == ["confidence"]
    assert set(RISKS).isdisjoint(FITTED)
