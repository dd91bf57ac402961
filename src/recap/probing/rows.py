"""From margins back to rows of a margin table."""

from __future__ import annotations

from typing import Any

from recap.claims import Graph
from recap.probes import Plan
from recap.probing.item import Item
from recap.probing.job import Job
from recap.probing.run import Margins, ProbeRun, margin_of
from recap.table import Row, row_from_fields


def rows_of(job: Job, run: ProbeRun, model: str, graph: Graph) -> list[Row]:
    """One row per statement whose picture could be shown, in the job's order."""
    return [
        _row(item, plan, image, run.margins, model, graph)
        for item, plan, image in zip(job.items, job.plans, job.images, strict=True)
        if image not in run.failed
    ]


def _row(item: Item, plan: Plan, image: str, margins: Margins, model: str, graph: Graph) -> Row:
    """A statement with everything that was measured for it."""
    direct: dict[str, Any] = {}
    channels: dict[str, dict[str, float]] = {}
    for role in plan.roles:
        margin = margin_of(margins, image, role.probe)
        if margin is None:
            continue
        if role.kind == "direct":
            direct[role.probe.view.value] = margin
        elif role.kind == "paraphrase":
            direct.setdefault("paraphrases", []).append(margin)
        elif role.kind.startswith("ca_"):
            direct[role.kind] = margin
        else:
            channels.setdefault(role.probe.view.value, {})[role.relation or ""] = margin
    fields: dict[str, Any] = {
        "id": item.id,
        "dataset": item.dataset or None,
        "unit": item.unit,
        "image": item.image,
        "subject": item.statement.subject,
        "relation": item.statement.relation,
        "object": item.statement.object,
        "label": item.label,
        "claim": plan.claim.relation,
        "swapped": plan.claim.swapped,
        "answer": item.answer,
        "model": model,
        "direct": direct,
        "margins": channels,
    }
    return row_from_fields(fields, graph)
