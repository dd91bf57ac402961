"""Counts of a dataset: families, relations, and what probing it costs in the paper's counting and in ours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from recap.claims import Graph, default_graph
from recap.datasets.reading import Loaded
from recap.probes import PROBE_SETS, diagnostic_probes, merge_by_image, plan_probes, planned_calls, printed_calls
from recap.probing import Item


def dataset_stats(loaded: Loaded, graph: Graph | None = None) -> dict[str, Any]:
    """Everything `recap data stats --json` prints.

    `relations`, `images`, `true`, probes and calls speak of the covered statements, as the paper's counts do.
    """
    graph = graph or default_graph()
    covered = [item for item in loaded.items if item.statement.relation in graph]
    claims = [graph.claim(item.statement) for item in covered]
    # Statements whose image is unknown share nothing, except within their own group.
    pictures = [item.image or f"unit {item.unit}" for item in covered]
    merged: dict[str, int] = {}
    for name in PROBE_SETS:
        plans = [plan_probes(claim, name, graph=graph) for claim in claims]
        merged[name] = sum(map(len, merge_by_image(plans, pictures).values()))
    covered_rows = _rows(covered)
    return {
        "rows": loaded.rows,
        "covered_rows": covered_rows,
        "covered_share": covered_rows / loaded.rows if loaded.rows else 0.0,
        "statements": len(loaded.items),
        "covered": len(covered),
        "images": _images(covered),
        "images_all": _images(loaded.items),
        "units": len({item.unit for item in covered}),
        "true": sum(item.label == "yes" for item in covered),
        "unlabelled": sum(item.label is None for item in covered),
        "unread": len(loaded.unread),
        "families": _counts([graph.family_of(item.statement.relation) for item in loaded.items]),
        "relations": _counts([item.statement.relation for item in covered]),
        "probes": {"diagnostic": diagnostic_probes(claims, graph), "distinct_per_image": merged},
        "calls_per_statement": printed_calls(claims, graph),
        "planned_calls_per_statement": planned_calls(claims, graph),
    }


def _rows(items: Sequence[Item]) -> int:
    """Official rows behind statements: those of a choice group are options of one row."""
    return len({item.id.rpartition("-")[0] if item.unit == item.id.rpartition("-")[0] else item.id for item in items})


def _images(items: Sequence[Item]) -> int | None:
    """Distinct images; None where the files do not say which image a statement is about."""
    known = {item.image for item in items if item.image is not None}
    return len(known) if known or not items else None


def _counts(names: Sequence[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items(), key=lambda pair: (-pair[1], pair[0])))
