"""Verdicts that rounding or sampling could turn are marked; no verdict is changed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import recap
from recap import MarginTable
from recap.policy import load_policy
from recap.policy.closeness import sampling_errors, too_close
from recap.statistics.sampling import sampled_margin
from recap.table import Direct, Row
from recap.world.bundled import policy_file
from tests.simulate import BIASED, simulate


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


def test_probes_that_happen_to_have_one_value_still_move_apart() -> None:
    """Of five answers to two questions all are "yes": the two margins are equal, and nothing ties what is behind them."""
    policy = replace(load_policy(policy_file("world:biased")), model=None)
    same = sampled_margin(5, 5)
    [found] = sampling_errors(policy, [row(same, same, same, "yes")], tables([]).graph, 5)
    assert found.risk_error is not None
    assert found.risk_error > 0.1
    assert found.agreement < 0.95


def test_a_correction_or_a_verdict_of_its_own_that_could_turn_is_too_close() -> None:
    table = simulate(BIASED, 300, 1)
    policy = recap.calibrate(table, repair=True, repair_at_most=0.3, undecided=True)
    rng, width, fresh = np.random.default_rng(0), 0.15, simulate(BIASED, 150, 2)

    def moved(each: Row) -> Row:
        image = {
            name: (value or 0.0) + rng.uniform(-width, width) for name, value in (each.margins["image"] or {}).items()
        }
        own = not each.swapped and each.direct.image == each.margin("image", each.claim or "")
        direct = image[each.claim or ""] if own else (each.direct.image or 0.0) + rng.uniform(-width, width)
        return each.model_copy(
            update={
                "direct": each.direct.model_copy(update={"image": direct}),
                "margins": each.margins | {"image": image},
            }
        )

    after = MarginTable(tuple(map(moved, fresh.rows)), fresh.graph)
    words = [[each.word for each in recap.decide(policy, some)] for some in (fresh, after)]
    close = too_close(policy, fresh.rows, fresh.graph, width)
    turned = {(one, other): bool(near) for one, other, near in zip(*words, close, strict=True) if one != other}
    assert {"corrected", "cannot-be-told"} <= {word for pair in turned for word in pair}
    assert all(turned.values())
    assert close.mean() < 0.9
