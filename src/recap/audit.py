"""The auditor: a picture and a question in, a verdict with its trail out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from PIL import Image

from recap.claims import Graph, Statement, default_graph, load_graph
from recap.errors import RecapError
from recap.images import image_size, open_image
from recap.models import LikelihoodModel
from recap.models.load import default_policy, load_model
from recap.policy import CONFIDENCE, Decision, Policy, decide, load_policy
from recap.policy.reason import case_of
from recap.probes import Plan, plan_probes, question
from recap.probing import Item, plan_job, rows_of, run_job
from recap.probing.run import Margins, margin_of
from recap.store import Store
from recap.table import MarginTable, Row, row_from_fields

BY_CONFIDENCE = ("fallback", CONFIDENCE)
"""modes of a decision in which no relation evidence was heard"""
Picture = str | Path | bytes | Image.Image


@dataclass(frozen=True)
class Probed:
    """One probe of a verdict's trail: what was asked, what for, and what came back."""

    role: str
    relation: str | None
    question: str
    view: str
    margin: float


@dataclass(frozen=True)
class Verdict:
    """Accepted or rejected, and why. Without a policy `accepted` is None: there is evidence, nothing is calibrated."""

    question: str
    answer: str
    accepted: bool | None
    risk: float | None
    threshold: float | None
    mode: str | None
    reason: str
    probes: tuple[Probed, ...]
    row: Row = field(repr=False)
    """the margins as a row of a margin table: the part of the trail from which the verdict can be made again"""

    @property
    def word(self) -> str:
        """accepted, rejected, or uncalibrated where nothing is."""
        return "uncalibrated" if self.accepted is None else "accepted" if self.accepted else "rejected"

    @property
    def foreign(self) -> bool:
        """Whether confidence alone could speak, and speaks for the other answer than the one that was audited."""
        return _foreign(self.mode, self.row)

    def to_json(self) -> dict[str, Any]:
        """The whole verdict with its trail."""
        return {
            "question": self.question,
            "answer": self.answer,
            "accepted": self.accepted,
            "risk": self.risk,
            "threshold": self.threshold,
            "mode": self.mode,
            "reason": self.reason,
            "probes": [vars(probe) for probe in self.probes],
            "row": self.row.model_dump(mode="json", exclude_none=True) | {"claim": self.row.claim},
        }


class Auditor:
    """A model, a relation graph and, if there is one, a calibrated policy."""

    def __init__(
        self,
        model: LikelihoodModel,
        policy: Policy | None = None,
        graph: Graph | None = None,
        store: Store | None = None,
    ) -> None:
        self.model, self.policy = model, policy
        self.graph = graph or default_graph()
        self.store = store or Store(":memory:")

    @classmethod
    def load(
        cls,
        model: str,
        policy: str | Path | Policy | None = None,
        *,
        graph: str | Path | None = None,
        store: str | Path | None = None,
        **options: Any,
    ) -> Auditor:
        """A checkpoint by name or folder, one in the box (`world:aligned`), or one that is served (`http://…`).

        A bundled model brings a policy of its own, which is used if none is given and the graph is the paper's.
        `options` go to `LocalModel.load` (dtype, device, …) or `RemoteModel.load` (concurrency, patience, …).
        """
        if policy is None:
            policy = default_policy(model, graph)
        frozen = policy if isinstance(policy, Policy) or policy is None else load_policy(policy)
        return cls(load_model(model, **options), frozen, load_graph(graph), Store(store) if store else None)

    def audit(self, image: Picture, question: str, answer: str | None = None) -> Verdict:
        """One verdict. A frozen answer that is given is respected; otherwise it is the sign of the direct margin."""
        return self.audit_many([(image, question, answer)])[0]

    def audit_many(self, cases: Sequence[tuple[Picture, str] | tuple[Picture, str, str | None]]) -> list[Verdict]:
        """Many verdicts; questions about the same picture share its forward."""
        pictures = _Pictures()
        items = [
            self._item(str(i), pictures.name(case[0]), case[1], case[2] if len(case) > 2 else None)
            for i, case in enumerate(cases)
        ]

        def size(image: str | None, questions: int) -> int:
            return pictures.size(self.model, image, questions)

        job = plan_job(items, "img", size, self.model.tokens, self.graph)
        ran = run_job(job, self.model, self.store, pictures.open)
        for why in ran.failed.values():
            raise RecapError(why)
        rows = rows_of(job, ran, str(self.model.identity), self.graph)
        found = [_trail(image, plan, ran.margins) for image, plan in zip(job.images, job.plans, strict=True)]
        return _verdicts([case[1] for case in cases], rows, found, self.policy, self.graph)

    def _item(self, name: str, image: str, question: str, answer: str | None) -> Item:
        if answer not in (None, "yes", "no"):
            raise RecapError(f'the answer to audit is "{answer}", but must be "yes" or "no"')
        statement = self.graph.parse(question).statement
        own = " ".join(question.split()) if statement.is_question else None
        return Item(name, "", image, image, statement, None, own, answer)


def replay(trail: dict[str, Any], policy: Policy | None, graph: Graph | None = None) -> Verdict:
    """The verdict again, from its JSON and a policy, without model or picture."""
    relations = graph or default_graph()
    try:
        row = row_from_fields(trail["row"], relations)
        probes = tuple(Probed(**probe) for probe in trail["probes"])
        question = str(trail["question"])
    except (KeyError, TypeError):
        raise RecapError("this is not the JSON of a verdict") from None
    return _verdict(question, row, probes, policy, relations)


def verdict_on(row: Row, policy: Policy | None, graph: Graph | None = None) -> Verdict:
    """What an audit says of a row of a margin table: the same verdict and trail, from margins measured before."""
    relations = graph or default_graph()
    said = Statement(row.subject, row.relation, row.object, relations.family_of(row.relation), row.relation, False)
    plan = plan_probes(relations.claim(said), graph=relations)
    probes: list[Probed] = []
    for role in plan.roles:
        margin = row.direct.image if role.kind == "direct" else row.margin("image", role.relation or "")
        if margin is not None:
            probes.append(Probed(role.kind, role.relation, role.probe.question, role.probe.view.value, margin))
    return _verdict(question(row.subject, row.relation, row.object, relations), row, tuple(probes), policy, relations)


def _verdict(question: str, row: Row, probes: tuple[Probed, ...], policy: Policy | None, graph: Graph) -> Verdict:
    return _verdicts([question], [row], [probes], policy, graph)[0]


def _verdicts(
    questions: Sequence[str],
    rows: Sequence[Row],
    probes: Sequence[tuple[Probed, ...]],
    policy: Policy | None,
    graph: Graph,
) -> list[Verdict]:
    """The rows judged as one table: a policy takes about as long over many as over one."""
    given = zip(questions, rows, probes, strict=True)
    if policy is None:
        return [
            Verdict(question, _said(row), None, None, None, None, _uncalibrated(row, graph), trail, row)
            for question, row, trail in given
        ]
    decisions: Iterator[Decision] = decide(policy, MarginTable(tuple(rows), graph, source="the audit"))
    return [
        Verdict(question, _said(row), made.accepted, made.risk, made.threshold, made.mode, made.reason, trail, row)
        for made, (question, row, trail) in zip(map(_of_this_answer, decisions, rows), given, strict=True)
    ]


def _foreign(mode: str | None, row: Row) -> bool:
    return mode in BY_CONFIDENCE and row.says_yes != ((row.direct.image or 0.0) >= 0)


def _of_this_answer(decision: Decision, row: Row) -> Decision:
    """Confidence alone speaks for the model's own answer; of the other one it says only that it is not the model's."""
    if not _foreign(decision.mode, row):
        return decision
    alone = "" if decision.mode == CONFIDENCE else f'"{row.relation}" is outside the graph, and '
    margin, other = abs(row.direct.image or 0.0), "no" if row.says_yes else "yes"
    why = f'{alone}confidence (|margin| {margin:.2f}) is in the other answer, "{other}"'
    return replace(decision, accepted=False, risk=None, reason=f"rejected: {why}")


def _said(row: Row) -> str:
    return "yes" if row.says_yes else "no"


def _uncalibrated(row: Row, graph: Graph) -> str:
    told = f'"{row.relation}" is outside the graph, so only confidence could speak'
    if row.claim is not None:
        case = case_of(row, graph)
        told = ", ".join(f"{case.pair(w.relation)} {w.margin:+.2f} ({w.kind})" for w in case.against)
    return f"not calibrated, so neither accepted nor rejected; the evidence: {told}"


def _trail(image: str, plan: Plan, margins: Margins) -> tuple[Probed, ...]:
    found = [(role, margin_of(margins, image, role.probe)) for role in plan.roles]
    return tuple(
        Probed(role.kind, role.relation, role.probe.question, role.probe.view.value, margin)
        for role, margin in found
        if margin is not None
    )


class _Pictures:
    """Pictures of one call, however they were given, under names that a job can carry."""

    def __init__(self) -> None:
        self.given: dict[str, Picture] = {}
        self.names: dict[int, str] = {}

    def name(self, picture: Picture) -> str:
        fresh = str(picture) if isinstance(picture, str | Path) else f"picture {len(self.names) + 1}"
        name = self.names.setdefault(id(picture), fresh)
        self.given[name] = picture
        return name

    def open(self, name: str) -> Image.Image:
        picture = self.given[name]
        return picture.convert("RGB") if isinstance(picture, Image.Image) else open_image(picture)

    def size(self, model: LikelihoodModel, name: str | None, questions: int) -> int:
        if name is None:
            return model.size(None, questions)
        picture = self.given[name]
        return model.size(picture.size if isinstance(picture, Image.Image) else image_size(picture), questions)
