from __future__ import annotations

import pytest
from sklearn.metrics import average_precision_score

from recap.paper.experiments.deployment.prevalence import measure
from tests import reference
from tests.paper.experiments.by_loops import risks, two_models

TABLE = "prevalence-auprc"


def test_counts_and_average_precision_agree_with_loops_and_scikit_learn() -> None:
    result = measure.run(two_models().study)
    for s, rows in two_models().settings():
        hallucinated = [reference.is_hallucination(row) for row in rows]
        assert result.number(TABLE, "hall_n", model=s.model, data=s.data) == sum(hallucinated)
        share = sum(hallucinated) / len(rows)
        assert result.number(TABLE, "prevalence", model=s.model, data=s.data) == pytest.approx(100 * share)
        ours = reference.selector(rows, rows) if s.mode == "recap-selector" else risks("recap-img", rows)
        for method, values in (("confidence", risks("confidence", rows)), ("recap", ours)):
            expected = 100 * average_precision_score(hallucinated, values)
            assert result.number(TABLE, "ap", model=s.model, data=s.data, method=method) == pytest.approx(expected)
