"""The sentence of a decision: every number and word in it is held against the margins that it speaks of."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recap.audit import replay, verdict_on
from recap.claims import Graph
from recap.errors import RecapError
from recap.policy import Decision, Policy, calibrate_table, decide
from recap.risks import compute_risk
from recap.table import MarginTable, Row
from tests.tables import fields, random_rows, table_of

MODES = ("recap-img", "recap-selector", "confidence", "staged")
PAIR, X, SIZE = r'"([^"]+)"', r"([+-]\d+\.\d\d)", r"(\d+\.\d\d)"
COMPARED = re.compile(r"; risk (-?\d+\.\d+) (≤|>) threshold (-?\d+\.\d+)$")

Said = tuple[str, ...]


class Facts:
    """The margins of a row, under the names that a sentence gives to them."""

    def __init__(self, row: Row, graph: Graph) -> None:
        self.row, claim = row, row.claim
        subject, obj = (row.object, row.subject) if row.swapped else (row.subject, row.object)
        contradictions, weights = (graph.contradictions(claim), graph.supports(claim)) if claim else ((), {})
        known = [] if claim is None else [claim, *contradictions, *weights]
        self.relations = {f"{subject} {name.replace('_', ' ')} {obj}": name for name in known}
        self.margins = {name: row.margins["image"][name] for name in known if row.margins}
        self.x = self.margins.get(claim or "", 0.0)
        self.strongest = max([self.margins[name] for name in contradictions], default=0.0)
        self.penalty = sum(weight * max(0.0, -self.margins[name]) for name, weight in weights.items())
        self.direct = row.direct.image or 0.0
        self.own, self.answer = "yes" if self.direct >= 0 else "no", "yes" if row.says_yes else "no"

    def margin(self, pair: str, printed: str) -> float:
        """The margin of a quoted pair, which must be the printed one."""
        margin = self.margins[self.relations[pair]]
        assert f"{margin:+.2f}" == printed, pair
        return margin

    def claims(self, pair: str, printed: str) -> float:
        """The same for the row's own claim."""
        assert self.relations[pair] == self.row.claim
        return self.margin(pair, printed)


def held_up(f: Facts, pair: str, x: str, _beside: str, y: str, rival: str) -> bool:
    return (not rival or f.margin(rival, y) == f.strongest < f.x) and f.claims(pair, x) == f.x


def tolerated(f: Facts, pair: str, x: str, y: str, rival: str) -> bool:
    return f.margin(rival, y) == f.strongest >= f.x == f.claims(pair, x)


def confident(f: Facts, size: str, own: str, other: str = "") -> bool:
    return f"{abs(f.direct):.2f}" == size and f.own == (own or other) and (f.answer == f.own) == bool(own)


# sentence → the witness that it names (kind, and which quoted pair is its relation), whose answer, accepted or not, and
# what must hold for it to be true
WORDS: list[tuple[str, str, int | None, str, bool | None, Callable[..., bool]]] = [
    (rf"the claim {PAIR} holds up well enough \({X}(, against {X} for {PAIR})?\)", "claim", 0, "yes", True, held_up),
    (rf"the claim {PAIR} is no stronger than its contradiction, which is tolerated here, \({X}, against {X} for {PAIR}\)",
     "claim", 0, "yes", True, tolerated),
    (rf"the claim {PAIR} lacks support in the picture \({X}\)", "claim", 0, "", None,
     lambda f, pair, x: f.claims(pair, x) <= 0),
    (rf"the claim {PAIR} has too little support in the picture \({X}\)", "claim", 0, "yes", False,
     lambda f, pair, x: f.claims(pair, x) > 0),
    (rf"a contradiction, {PAIR} \({X}\), is better supported than the claim {PAIR} \({X}\)", "contradiction", 0, "yes",
     False, lambda f, pair, y, claim, x: f.margin(pair, y) == f.strongest > f.claims(claim, x)),
    (rf"a contradiction, {PAIR} \({X}\), comes too close to the claim {PAIR} \({X}\)", "contradiction", 0, "yes",
     False, lambda f, pair, y, claim, x: f.margin(pair, y) == f.strongest <= f.claims(claim, x)),
    (rf"a support failed: {PAIR} should hold with (?:the claim )?{PAIR} but has margin {X} \(penalty {SIZE}\)",
     "support", 0, "yes", False,
     lambda f, pair, claim, z, p: f.margin(pair, z) < 0 < f.penalty and f"{f.penalty:.2f}" == p),
    (rf"a support failed: {PAIR} has margin {X} \(penalty {SIZE}\)", "support", 0, "no", True,
     lambda f, pair, z, p: f.margin(pair, z) < 0 < f.penalty and f"{f.penalty:.2f}" == p),
    (rf"a contradiction holds instead: {PAIR} \({X}\)", "contradiction", 0, "no", True,
     lambda f, pair, y: f.margin(pair, y) == f.strongest > 0),
    (rf'nothing backs "no" and the picture supports the claim {PAIR} \({X}\), but that counts as neutral, which is '
     "enough here", "neutral", None, "no", True,
     lambda f, pair, x: f.claims(pair, x) > 0 >= f.strongest and f.penalty == 0),
    (rf'nothing backs "no" strongly enough: the picture supports the claim {PAIR} \({X}\)', "neutral", None, "no",
     False, lambda f, pair, x: f.claims(pair, x) > 0 >= f.strongest and f.penalty == 0),
    (rf'nothing backs "no" strongly enough: the picture hardly denies the claim {PAIR} \({X}\)', "claim", 0, "no",
     False, lambda f, pair, x: f.claims(pair, x) <= 0),
    (rf'nothing backs "no" strongly enough: its best witness, the contradiction {PAIR}, has only {X}', "contradiction",
     0, "no", False, lambda f, pair, y: f.margin(pair, y) == f.strongest > 0),
    (rf'nothing backs "no" strongly enough: its best witness, the failed support {PAIR}, has penalty only {SIZE}',
     "support", 0, "no", False, lambda f, pair, p: f.penalty > 0 and f"{f.penalty:.2f}" == p),
    (rf'confidence decided: \|margin\| {SIZE} (?:for "(yes|no)"|\(in the other answer, "(yes|no)"\)) is enough',
     "confidence", None, "", True, confident),
    (rf'confidence decided: \|margin\| {SIZE} (?:for "(yes|no)"|\(in the other answer, "(yes|no)"\)) is too low',
     "confidence", None, "", False, confident),
    (rf'confidence \(\|margin\| {SIZE}\) is in the other answer, "(yes|no)"', "confidence", None, "", False,
     lambda f, size, own: f.own == own != f.answer and f"{abs(f.direct):.2f}" == size),
    (r"this policy was calibrated without such rows", "", None, "", False, lambda f: f.row.claim is None),
]  # fmt: skip


def check(decision: Decision, row: Row, graph: Graph) -> None:
    """Hold a decision's sentence against its row."""
    verdict, why = decision.reason.split(": ", 1)
    assert verdict == ("accepted" if decision.accepted else "rejected")
    compared = COMPARED.search(why)
    assert (compared is None) == (decision.risk is None), decision.reason
    if compared is None:
        assert not decision.accepted
    else:
        risk, sign, threshold = float(compared[1]), compared[2], float(compared[3])
        assert sign == ("≤" if decision.accepted else ">")
        assert (risk <= threshold) == decision.accepted, decision.reason
        assert (risk, threshold) == pytest.approx((decision.risk, decision.threshold), abs=5.1e-4)
        why = why[: compared.start()]
    outside = re.match(rf"{PAIR} is outside the graph, and ", why)
    assert (outside is not None) == (row.claim is None), decision.reason
    if outside is not None:
        assert outside[1] == row.relation
        why = why[outside.end() :]
    facts = Facts(row, graph)
    found = [(match, *rest) for words, *rest in WORDS if (match := re.fullmatch(words, why))]
    assert len(found) == 1, decision.reason
    [(match, kind, named, answer, accepted, true)] = found
    said = [each or "" for each in match.groups()]
    assert true(facts, *said), (decision.reason, facts.margins)
    assert accepted in (None, decision.accepted)
    assert answer in ("", decision.answer)
    assert decision.answer == facts.answer
    if not kind:
        assert decision.witness is None
        return
    assert decision.witness is not None
    relation = None if named is None else facts.relations[said[named]]
    assert (decision.witness.kind, decision.witness.relation) == (kind, relation), decision.reason
    expected = {"neutral": 0.0, "confidence": abs(facts.direct)}.get(kind, facts.margins.get(relation or ""))
    assert decision.witness.margin == expected


def tables(seed: int, step: float, outside: float) -> tuple[MarginTable, MarginTable]:
    """A table to calibrate on, and one to decide whose answers are half of them given, whoever gave them."""
    rng = np.random.default_rng(seed)
    asked = random_rows(seed + 1, 15, step=step, outside=outside, bias=float(rng.choice([0.0, 1.5])))
    for row in asked:
        if rng.random() < 0.5:
            row["answer"] = str(rng.choice(["yes", "no"]))
    return table_of(*random_rows(seed, 25, step=step, outside=outside)), table_of(*asked)


CASES: dict[str, Any] = {
    "seed": st.integers(0, 100_000),
    "mode": st.sampled_from(MODES),
    "step": st.sampled_from([0.0, 0.25, 0.5, 1.0]),
    "outside": st.sampled_from([0.0, 0.3]),
    "coverage": st.sampled_from([0.05, 0.3, 0.8, 1.0]),
}


def calibrated(table: MarginTable, coverage: float, mode: str) -> Policy | None:
    first = {"first_stage": coverage / 2} if mode == "staged" else {}
    try:
        return calibrate_table(table, coverage, mode=mode, **first)
    except RecapError:  # few rows may hold one label only
        return None


@settings(max_examples=150)
@given(**CASES)
def test_a_reason_never_contradicts_its_margins(
    seed: int, mode: str, step: float, outside: float, coverage: float
) -> None:
    source, target = tables(seed, step, outside)
    policy = calibrated(source, coverage, mode)
    if policy is not None:
        for decision, row in zip(decide(policy, target), target.rows, strict=True):
            check(decision, row, target.graph)


@settings(max_examples=60)
@given(**CASES)
def test_an_audit_its_json_its_counter_and_the_api_name_the_decisions_witness(
    seed: int, mode: str, step: float, outside: float, coverage: float
) -> None:
    from recap.server.metrics import Metrics
    from recap.server.schema import AuditResponse

    source, target = tables(seed, step, outside)
    policy = calibrated(source, coverage, mode)
    if policy is None:
        return
    made = list(decide(policy, target, reject_foreign=True))
    for decision, plain, row in zip(made, decide(policy, target), target.rows, strict=True):
        check(decision, row, target.graph)
        own = (row.direct.image or 0.0) >= 0
        assert decision.foreign == plain.foreign
        assert not decision.foreign or row.says_yes != own
        assert decision == plain or (decision.foreign and decision.risk is None and not decision.accepted)
        verdict = verdict_on(row, policy, target.graph)
        assert verdict.decision == decision
        told = json.loads(json.dumps(verdict.to_json()))
        assert {name: told[name] for name in decision.to_json() if name != "id"} == {
            name: value for name, value in json.loads(json.dumps(decision.to_json())).items() if name != "id"
        }
        assert replay({name: told[name] for name in ("question", "probes", "row")}, policy) == verdict
        told |= {"model": "m"}
        shown = AuditResponse.model_validate(told).model_dump(mode="json")
        assert {name: shown[name] for name in told} == told
        metrics = Metrics(policy, target.graph)
        metrics.audited(verdict)
        kind = "none" if decision.witness is None else decision.witness.kind
        assert f'witness="{kind}"}} 1.0' in metrics.exposition(0).decode()


@settings(max_examples=150)
@given(st.integers(0, 100_000), st.sampled_from([0.0, 0.5]))
def test_what_witnesses_a_no_is_its_relation_margin(seed: int, step: float) -> None:
    table = table_of(*[row | {"answer": "no"} for row in random_rows(seed, 15, step=step)])
    policy = calibrated(table, 0.8, "recap-img")
    if policy is None:
        return
    for decision, risk, row in zip(decide(policy, table), compute_risk(table, "recap-img"), table.rows, strict=True):
        assert decision.witness is not None
        facts, margin = Facts(row, table.graph), decision.witness.margin
        strength = {"claim": -margin, "support": facts.penalty}.get(decision.witness.kind, margin)
        assert strength == pytest.approx(-risk, abs=1e-12)


@settings(max_examples=60)
@given(**CASES)
def test_a_standing_is_the_share_that_is_no_riskier(
    seed: int, mode: str, step: float, outside: float, coverage: float
) -> None:
    source, target = tables(seed, step, outside)
    policy = calibrated(source, coverage, mode)
    if policy is None:
        return
    risks = policy.apply(policy.scores(source)).risk
    for decision in decide(policy, target):
        if mode == "staged" or decision.risk is None:
            assert decision.standing.risk is None
            continue
        assert decision.standing.risk == pytest.approx((risks <= decision.risk).mean())
        assert decision.standing.threshold == pytest.approx((risks <= decision.threshold).mean())
        # What the threshold accepts on calibration is where the threshold stands.
        assert (decision.standing.risk <= (decision.standing.threshold or 0)) or not decision.accepted


def test_a_risk_that_rounds_to_its_threshold_is_told_apart() -> None:
    table = table_of(*(fields(str(i), label="yes" if i % 2 else "no", direct={"image": 1.0}) for i in range(4)))
    policy = calibrate_table(table, mode="confidence")
    [decision] = decide(policy, table_of(fields("a", direct={"image": 0.9999999})))
    assert decision.reason.endswith("risk -0.9999999 > threshold -1.0000000")
