# The harness is an optional dependency, typed only where it is installed.
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUntypedBaseClass=false, reportUnknownParameterType=false
# pyright: reportUntypedFunctionDecorator=false, reportUntypedClassDecorator=false, reportMissingTypeStubs=false
"""The task `recap_spatial`: every probe of a statement as likelihood requests, and the verdict that follows from them.

Whichever model of the harness gives the likelihoods is audited: nothing else of RECAP asks a model here.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lm_eval.api.instance import Instance
from lm_eval.api.task import ConfigurableTask

import datasets
from recap.audit import verdict_on
from recap.claims import default_graph
from recap.datasets import load_dataset
from recap.datasets.probing import locate
from recap.images import open_image
from recap.models.contract import ANSWERS
from recap.models.load import default_policy
from recap.policy import Policy, load_policy
from recap.probes import Plan, plan_probes, question
from recap.probing import Item, ProbeRun, rows_of
from recap.probing.job import ProbingJob
from recap.schemes import scheme_of


def questions(
    dataset: str = "world:whatsup", root: str | None = None, images: str | None = None, **_more: Any
) -> dict[str, datasets.Dataset]:
    """The documents: labelled statements of a benchmark as questions, with the place of each picture."""
    folder, graph = Path(images or root or Path(dataset).parent), default_graph()
    rows: list[dict[str, str]] = []
    for item in load_dataset(dataset, root).items:
        said = item.statement
        asked = item.question or question(said.subject, said.relation, said.object, graph, naming=said.naming)
        if item.label is not None and item.image is not None:
            place = locate(folder, item.image)
            rows.append({"id": item.id, "unit": item.unit, "image": place, "question": asked, "label": item.label})
    return {"test": datasets.Dataset.from_list(rows)}


def picture(doc: dict[str, Any]) -> list[Any]:
    """What the harness shows a model."""
    return [open_image(doc["image"])]


class SpatialTask(ConfigurableTask):
    """A document is a statement; its requests are the yes and no of each of its probes, the direct question first."""

    def __init__(self, config: dict[str, Any] | None = None) -> None:
        own = {name: value for name, value in (config or {}).items() if name != "class"}
        super().__init__(config=own)
        self.policy = _policy((self.config.metadata or {}).get("policy"))

    def construct_requests(self, doc: dict[str, Any], ctx: str, **kwargs: Any) -> list[Instance]:  # noqa: ARG002
        """Two requests for each probe, all with the same picture."""
        for name in ("apply_chat_template", "chat_template"):
            kwargs.pop(name, None)
        shown = {"visual": picture(doc)}
        asked = [(probe.question, answer, shown) for probe in _plan(doc).probes for answer in ANSWERS]
        return [
            Instance(request_type="loglikelihood", doc=doc, arguments=each, idx=i, **kwargs)
            for i, each in enumerate(asked)
        ]

    def process_results(self, doc: dict[str, Any], results: Sequence[tuple[float, bool]]) -> dict[str, Any]:
        """The answer, and the policy's word on it."""
        plan, logs = _plan(doc), [each[0] for each in results]
        margins = [yes - no for yes, no in zip(logs[::2], logs[1::2], strict=True)]
        item = Item(doc["id"], "", doc["unit"], doc["image"], plan.claim.statement, doc["label"], doc["question"])
        ran = ProbeRun({(doc["image"], probe): each for probe, each in zip(plan.probes, margins, strict=True)})
        graph = default_graph()
        [row] = rows_of(ProbingJob((item,), (plan,), (doc["image"],), ()), ran, "", graph)
        # Which model the harness asked is not known here: that the policy is its own is for the caller to see to.
        verdict = verdict_on(row.model_copy(update={"model": None}), self.policy, graph)
        right = float(verdict.answer == doc["label"])
        if verdict.accepted is None:
            return {"acc": right}
        risk = float("inf") if verdict.risk is None else verdict.risk
        told = {"coverage": float(verdict.accepted), "selective_acc": (right, verdict.accepted)}
        return {"acc": right, **told, "recap_risk": risk}


def selective_accuracy(items: Sequence[tuple[float, bool]]) -> float:
    """The share of right answers among those that were accepted."""
    accepted = [right for right, kept in items if kept]
    return sum(accepted) / len(accepted) if accepted else float("nan")


def median_risk(items: Sequence[float]) -> float:
    """The risk that half of the answers do not exceed."""
    return sorted(items)[len(items) // 2]


def _plan(doc: dict[str, Any]) -> Plan:
    graph = default_graph()
    return plan_probes(graph.parse(doc["question"]), graph=graph, asked=doc["question"])


def _policy(given: str | None) -> Policy | None:
    """A policy file, or the one of a model that comes with the package."""
    own = default_policy(given, None) if given is not None and scheme_of(given) is not None else given
    return None if own is None else load_policy(own)
