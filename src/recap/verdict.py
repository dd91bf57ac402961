"""A verdict with its trail, and how it follows from a row of margins and a policy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from recap.claims import Graph, Statement, default_graph
from recap.errors import RecapError, quoted
from recap.policy import Decision, Policy, Standing, Witness, decide
from recap.policy.closeness import SamplingError
from recap.policy.decide import verdict_word
from recap.policy.reason import evidence_summary
from recap.probes import Plan, Role, plan_probes, question
from recap.table import MarginTable, Row, row_from_fields
from recap.tabular import Tabular


@dataclass(frozen=True)
class ProbeResult:
    """One probe of a verdict's trail: what was asked, what for, and what came back."""

    role: str
    relation: str | None
    question: str
    view: str
    margin: float


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Accepted or rejected, and why. Without a policy, and outside a model's domain, there is evidence alone."""

    question: str
    answer: str
    accepted: bool | None = None
    """None, as what follows from a policy, where nothing is calibrated or `no_verdict` says why"""
    risk: float | None = None
    threshold: float | None = None
    mode: str | None = None
    witness: Witness | None = None
    reason: str
    standing: Standing = field(default_factory=Standing)
    foreign: bool = False
    """confidence alone could speak, and it speaks for the other answer than the one that was audited"""
    no_verdict: str | None = None
    """why nothing is accepted or rejected: the model was not made for this picture, or does not know a thing"""
    notes: tuple[str, ...] = ()
    """what else somebody should know who reads this"""
    model: str | None = None
    """the name of the model that was asked"""
    promise: str | None = None
    """what the policy guarantees of the answers that it accepts, or corrects, like this one; None where nothing"""
    correction: str | None = None
    """the opposite answer, where the policy offers it instead"""
    undecided: bool = False
    """whether it cannot be told: neither the claim nor its contradiction has support that counts"""
    too_close: bool = False
    """the risk lies within the noise band of the threshold: another engine, batch or precision may decide otherwise"""
    sampling: SamplingError | None = None
    """what sampling leaves open, where margins come from sampled answers"""
    probes: tuple[ProbeResult, ...]
    row: Row = field(repr=False)
    """the margins as a row of a margin table: the part of the trail from which the verdict can be made again"""

    def __repr__(self) -> str:
        return f'Verdict({quoted(self.question)} "{self.answer}" {self.word}: {quoted(self.reason, 160)})'

    def _repr_html_(self) -> str:
        rows = tuple((each.role, each.question, each.view, f"{each.margin:+.2f}") for each in self.probes)
        note = " ".join((self.reason, *self.notes))
        title = f"{self.question} “{self.answer}”: {self.word}"
        return Tabular(title, ("probe", "question", "view", "margin"), rows, note).to_html()

    @property
    def decision(self) -> Decision | None:
        """What the policy decided, as of the row of a table; None without one."""
        shared = {each.name: getattr(self, each.name) for each in fields(Decision) if each.name != "id"}
        return None if self.accepted is None else Decision(self.row.id, **shared)

    @property
    def word(self) -> str:
        """accepted, rejected, corrected or cannot-be-told; no-verdict outside the model's domain, or uncalibrated where
        nothing is calibrated."""
        if self.no_verdict is not None:
            return "no-verdict"
        return "uncalibrated" if self.accepted is None else verdict_word(self.accepted, self.correction, self.undecided)

    def to_json(self) -> dict[str, Any]:
        """The whole verdict with its trail."""
        hidden = {"foreign", "undecided", "too_close", *(() if self.sampling else ("sampling",))}
        return {name: value for name, value in vars(self).items() if name not in hidden} | {
            "verdict": self.word,
            "notes": list(self.notes),
            "witness": self.witness and vars(self.witness),
            "standing": vars(self.standing),
            "probes": [vars(probe) for probe in self.probes],
            **({"sampling": vars(self.sampling)} if self.sampling else {}),
            "row": self.row.model_dump(mode="json", exclude_none=True) | {"claim": self.row.claim},
        }


def replay(trail: dict[str, Any], policy: Policy | None, graph: Graph | None = None) -> Verdict:
    """The verdict again, from its JSON and a policy, without model or picture."""
    relations = graph or default_graph()
    try:
        row = row_from_fields(trail["row"], relations)
        probes = tuple(ProbeResult(**probe) for probe in trail["probes"])
        question, notes = str(trail["question"]), tuple(map(str, trail.get("notes", ())))
    except (KeyError, TypeError):
        raise RecapError("this is not the JSON of a verdict") from None
    [made] = judged_rows([(question, probes, row)], policy, relations)
    verdict = replace(made, model=trail.get("model"), notes=notes)
    why = trail.get("no_verdict")
    return verdict if why is None else without_verdict(verdict, str(why), relations)


def verdict_on(row: Row, policy: Policy | None, graph: Graph | None = None) -> Verdict:
    """What an audit says of a row of a margin table: the same verdict and trail, from margins measured before."""
    relations = graph or default_graph()
    said = Statement(row.subject, row.relation, row.object, relations.family_of(row.relation), row.relation, False)
    plan = plan_probes(relations.claim(said), graph=relations)

    def margin(role: Role) -> float | None:
        return row.direct.image if role.kind == "direct" else row.margin("image", role.relation or "")

    asked = question(row.subject, row.relation, row.object, relations)
    return judged_rows([(asked, probe_results(plan, margin), row)], policy, relations)[0]


def probe_results(plan: Plan, margin_of: Callable[[Role], float | None]) -> tuple[ProbeResult, ...]:
    """What came back for a plan's probes, as far as it did."""
    return tuple(
        ProbeResult(role.kind, role.relation, role.probe.question, role.probe.view.value, margin)
        for role in plan.roles
        if (margin := margin_of(role)) is not None
    )


def judged_rows(
    trails: Sequence[tuple[str, tuple[ProbeResult, ...], Row]],
    policy: Policy | None,
    graph: Graph,
    *,
    checked: bool = False,
) -> list[Verdict]:
    """Questions, probes and rows, judged as one table: a policy takes about as long over many as over one."""
    decisions: Iterable[dict[str, Any]]
    if policy is None:
        told = "not calibrated, so neither accepted nor rejected; the evidence: "
        decisions = [
            {"answer": "yes" if row.says_yes else "no", "reason": told + evidence_summary(row, graph)}
            for _, _, row in trails
        ]
    else:
        table = MarginTable(tuple(row for _, _, row in trails), graph, source="the audit")
        decisions = map(vars, decide(policy, table, any_model=checked, reject_foreign=True))
    return [
        Verdict(question=asked, probes=probes, row=row, **{name: made[name] for name in made if name != "id"})
        for made, (asked, probes, row) in zip(decisions, trails, strict=True)
    ]


def without_verdict(verdict: Verdict, why: str, graph: Graph) -> Verdict:
    """The same evidence, with nothing decided."""
    decided = dict.fromkeys(("accepted", "risk", "threshold", "mode", "witness", "promise", "correction"))
    reason = f"no verdict: {why}; the evidence: {evidence_summary(verdict.row, graph)}"
    reset: dict[str, Any] = {"standing": Standing(), "foreign": False, "undecided": False}
    return replace(verdict, **decided, **reset, reason=reason, no_verdict=why)
