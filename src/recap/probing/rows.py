"""From margins back to rows of a margin table."""

from __future__ import annotations

from typing import Any

from recap.claims import Graph
from recap.probes import Plan
from recap.probing.job import Asked, Job
from recap.probing.run import Margins, Ran, margin_of
from recap.table import Row, row_from_fields


def rows_of(job: Job, ran: Ran, model: str, graph: Graph) -> list[Row]:
    """One row per statement whose picture could be shown, in the job's order."""
    return [
        row_of(asked, plan, ran.margins, model, graph)
        for asked, plan in zip(job.asked, job.plans, strict=True)
        if asked.image not in ran.failed
    ]


def row_of(asked: Asked, plan: Plan, margins: Margins, model: str, graph: Graph) -> Row:
    """A statement with everything that was measured for it."""
    said = asked.claim.statement
    direct: dict[str, Any] = {}
    channels: dict[str, dict[str, float]] = {}
    for role in plan.roles:
        margin = margin_of(margins, asked.image, role.probe)
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
        "id": asked.id,
        "dataset": asked.dataset,
        "unit": asked.unit,
        "image": asked.named or asked.image,
        "subject": said.subject,
        "relation": said.relation,
        "object": said.object,
        "label": asked.label,
        "claim": asked.claim.relation,
        "swapped": asked.claim.swapped,
        "answer": asked.answer,
        "model": model,
        "direct": direct,
        "margins": channels,
    }
    return row_from_fields(fields, graph)
