from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from recap.paper.experiments.deployment.paired_bootstrap import measure
from recap.statistics import draw_units
from tests import reference
from tests.paper.experiments.by_loops import (
    DRAWS,
    Rows,
    changed,
    evidence_repeats_the_answer,
    one,
    pooled,
    risks,
    two_models,
)
from tests.tables import random_rows

SIGNS = {"acc@80": 1, "hfpr@80": -1, "err_auc": 1, "hall_auc": 1}


def _ranked(mode: str, rows: Rows) -> list[float]:
    return reference.selector(rows, rows) if mode == "recap-selector" else risks(mode, rows)


def _drawn(rows: Rows, values: list[float], counts: Any) -> dict[str, list[float]]:
    """The four metrics of each draw, by writing its rows out."""
    numbers = {unit: i for i, unit in enumerate(sorted({row["unit"] for row in rows}))}
    found: dict[str, list[float]] = {metric: [] for metric in SIGNS}
    for draw in counts.T:
        taken = [i for i, row in enumerate(rows) for _ in range(draw[numbers[row["unit"]]])]
        metrics = pooled([rows[i] for i in taken], [values[i] for i in taken])
        for metric in SIGNS:
            found[metric].append(metrics[metric.removesuffix("@80")])
    return found


def test_gains_and_intervals_are_those_of_resampled_rows_written_out() -> None:
    result = measure.run(two_models().study)
    assert {s.mode for s in two_models().study.settings} == {"recap-img", "recap-selector"}
    for s, rows in two_models().settings()[1:3]:
        counts = draw_units(len({row["unit"] for row in rows}), DRAWS)
        ours, theirs = (_drawn(rows, _ranked(name, rows), counts) for name in (s.mode, "confidence"))
        point = [pooled(rows, _ranked(name, rows)) for name in (s.mode, "confidence")]
        for metric, sign in SIGNS.items():
            name = metric.removesuffix("@80")
            gains = sign * (np.array(ours[metric]) - np.array(theirs[metric]))
            expected = (sign * (point[0][name] - point[1][name]), *np.quantile(gains, [0.025, 0.975]))
            for suffix, value in zip(("", ".low", ".high"), expected, strict=True):
                got = result.number(
                    "paired-bootstrap-gains", f"gain.{metric}{suffix}", model=s.model, data=s.data, method=s.mode
                )
                assert got == pytest.approx(100 * value, abs=1e-9), (metric, suffix)


def test_the_main_table_repeats_the_full_one() -> None:
    result = measure.run(two_models().study)
    for s, rows in two_models().settings():
        for metric in ("gain.hfpr@80", "gain.hall_auc.low", "gain.hall_auc.high"):
            full = result.number("paired-bootstrap-gains", metric, model=s.model, data=s.data, method=s.mode)
            assert result.number("bootstrap-main", metric, model=s.model, data=s.data, method="recap") == full
        for method, ranked in (("confidence", "confidence"), ("recap", s.mode)):
            area = 100 * pooled(rows, _ranked(ranked, rows))["aurc"]
            for table in ("bootstrap-main", "supp-aurc"):
                assert result.number(table, "aurc", model=s.model, data=s.data, method=method) == pytest.approx(area)


def test_evidence_that_only_repeats_confidence_gains_nothing() -> None:
    result = measure.run(one(changed(random_rows(3, 60), evidence_repeats_the_answer)).study)
    gains = [n for n in result.tables[1].numbers if n.metric.difference == "gain"]
    assert len(gains) == 12
    assert all(n.value == 0 for n in gains)
    assert result.findings[0] == (
        "H-FPR@80: the interval excludes zero in 0 of 1 setting, in RECAP's favour in 0; including zero for model on "
        "whatsup."
    )
