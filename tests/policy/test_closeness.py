"""Verdicts that rounding or sampling could turn are marked; no verdict is changed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from recap import MarginTable
from recap.policy import load_policy
from recap.policy.closeness import sampling_errors, too_close
from recap.table import Direct, Row
from recap.world.bundled import policy_file


def row(claim: float, against: float, direct: float, answer: str | None = None) -> Row:
    return Row(
        id="r", unit="u", relation="left_of", claim="left_of", answer=answer,
        direct=Direct(image=direct), margins={"image": {"left_of": claim, "right_of": against}},
    )  # fmt: skip


POLICY = replace(load_policy(policy_file("world:aligned")), model=None)


def tables(rows: list[Row]) -> MarginTable:
    from recap.claims import default_graph

    return MarginTable(tuple(rows), default_graph(), source="test")


def boundary() -> float:
    """The claim's margin at which a yes turns from rejected to accepted, all else equal."""
    low, high = -20.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        table = tables([row(middle, -1.0, middle, "yes")])
        accepted = bool(POLICY.apply(POLICY.scores(table)).accepted[0])
        low, high = (low, middle) if accepted else (middle, high)
    return high


def test_only_what_lies_within_the_band_is_too_close() -> None:
    edge, graph = boundary(), tables([]).graph
    rows = [row(edge + away, -1.0, edge + away, "yes") for away in (-1.0, -0.004, 0.004, 1.0)]
    assert too_close(POLICY, rows, graph, 0.01).tolist() == [False, True, True, False]
    assert not too_close(POLICY, rows, graph, 0.0).any()
    assert too_close(POLICY, rows, graph, 3.0).all()


def test_an_own_answer_that_could_turn_is_too_close_whatever_its_risk() -> None:
    graph = tables([]).graph
    assert too_close(POLICY, [row(0.001, 0.0, 0.001)], graph, 0.01).tolist() == [True]
    assert too_close(POLICY, [row(9.0, -9.0, 9.0)], graph, 0.01).tolist() == [False]


def test_every_flip_by_noise_within_the_band_was_marked() -> None:
    rng, graph = np.random.default_rng(0), tables([]).graph
    values = rng.normal(0, 3, (400, 2))
    rows = [row(a, b, a) for a, b in values.tolist()]
    moved = [
        row(a + x, b + y, a + x)
        for (a, b), (x, y) in zip(values.tolist(), rng.uniform(-0.2, 0.2, (400, 2)).tolist(), strict=True)
    ]
    before, after = tables(rows), tables(moved)
    first, second = (POLICY.apply(POLICY.scores(table)).accepted for table in (before, after))
    flipped = (first != second) | (before.yes != after.yes)
    close = too_close(POLICY, rows, graph, 0.2)
    assert flipped.sum() >= 5
    assert close[flipped].all()
    assert close.mean() < 0.4


def test_sampling_errors_shrink_with_samples_and_say_what_holds() -> None:
    rows, graph = [row(boundary() + 0.3, -1.0, boundary() + 0.3, "yes")], tables([]).graph
    few, many = (sampling_errors(POLICY, rows, graph, samples)[0] for samples in (5, 500))
    assert few.agreement < many.agreement
    assert few.risk_error is not None
    assert many.risk_error is not None
    assert few.risk_error > many.risk_error
    assert few.note.startswith("5 answers were sampled per question: the risk has a standard error of ")
    assert sampling_errors(POLICY, rows, graph, 5)[0] == few
    assert few.note.endswith(f"the verdict holds in {few.agreement:.0%} of draws")


def test_a_verdict_far_from_its_threshold_is_sure() -> None:
    """Five answers, all alike, do not make one sure; a thousand do."""
    few, many = (sampling_errors(POLICY, [row(6.0, -6.0, 6.0, "yes")], tables([]).graph, k)[0] for k in (5, 1000))
    assert few.agreement < 0.95 < many.agreement
