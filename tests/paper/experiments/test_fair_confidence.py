from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from recap.paper.experiments.deployment.fair_confidence import CONTROLS, measure
from tests.paper.experiments.small_studies import METRICS, setting, simulated, study_of
from tests.simulate import ALIGNED, simulate
from tests.tables import random_rows, table_of


def test_conf_anslogit_is_what_scikit_learn_gives_split_by_split() -> None:
    study = simulated()
    found = measure.run(study)
    for s in study.main():
        table, accuracies, rates = s.table, [], []
        margin = np.abs(table.direct("image"))
        features = np.column_stack([margin, table.yes, margin * table.yes])
        wrong = table.yes != table.positive
        for side in s.sides:
            model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)).fit(features[side], wrong[side])
            risk = model.predict_proba(features)[:, 1]
            accepted = ~side & (risk <= sorted(risk[side])[math.ceil(0.8 * side.sum() - 1e-9) - 1])
            accuracies.append((~wrong)[accepted].mean())
            rates.append(table.yes[accepted & ~table.positive].mean())
        for metric, values in (("acc@80", accuracies), ("hfpr@80", rates)):
            ours = found.number("fair-confidence", metric, model=s.model, data=s.data, method="conf-anslogit")
            assert ours == pytest.approx(100 * np.mean(values)), (s.model, s.data, metric)


def test_both_tables_say_the_same_of_what_both_hold() -> None:
    study = simulated()
    found = measure.run(study)
    for s in study.main():
        for method in ("probe-logit", "recap-img"):
            for metric in METRICS:
                here, there = (
                    found.number(table, metric, model=s.model, data=s.data, method=method)
                    for table in ("fair-confidence", "supervised-combiner")
                )
                assert here == there
                assert not math.isnan(here)


def test_the_findings_count_what_the_tables_hold() -> None:
    study = simulated()
    found = measure.run(study)
    for control, sentence in zip(CONTROLS, found.findings, strict=False):
        better = {"acc@80": 0, "hfpr@80": 0}
        for s in study.main():
            for metric in better:
                ours, theirs = (
                    found.number("fair-confidence", metric, model=s.model, data=s.data, method=m)
                    for m in ("recap-img", control)
                )
                better[metric] += (ours > theirs) if metric == "acc@80" else (ours < theirs)
        assert f"better Acc@80 in {better['acc@80']} and the better H-FPR@80 in {better['hfpr@80']} of 4" in sentence


def test_without_scikit_learn_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    found = measure.run(study_of(setting("aligned", "whatsup", simulate(ALIGNED, 60, 3))))
    assert not found.tables
    assert "scikit-learn is not installed" in found.missing[0]


def test_a_setting_without_the_degraded_picture_lacks_only_the_upper_bound() -> None:
    rows = random_rows(5, 60)
    for row in rows:
        del row["margins"]["degraded"]
    study = study_of(setting("made", "vsr", table_of(*rows)), setting("made", "whatsup", table_of(*random_rows(6, 60))))
    found = measure.run(study)
    assert not math.isnan(found.number("fair-confidence", "acc@80", model="made", data="vsr", method="probe-logit"))
    assert math.isnan(found.number("text:logit-hall", "hall_auc", model="made", data="vsr", method="logit-hall"))
    assert not math.isnan(
        found.number("text:logit-hall", "hall_auc", model="made", data="whatsup", method="logit-hall")
    )
    assert len(found.missing) == 1
    assert "logit-hall: degraded.claim is missing" in found.missing[0]
