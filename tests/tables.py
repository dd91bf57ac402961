"""Margin tables for tests: by hand, or random by seed with as many ties as one likes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from recap.claims import Graph, default_graph
from recap.table import MarginTable, row_from_fields

CHANNELS = ("image", "text", "degraded", "flipped")


def fields(name: str = "a", relation: str = "left_of", **changes: Any) -> dict[str, Any]:
    """A complete row: every channel, every margin."""
    graph = default_graph()
    claim, swapped = graph.canonical(relation) if relation in graph else (None, False)
    asked = (claim, *graph.contradictions(claim), *graph.supports(claim)) if claim else ()
    row: dict[str, Any] = {
        "id": name,
        "dataset": "made",
        "unit": f"unit-{name}",
        "image": f"{name}.jpg",
        "subject": "mug",
        "relation": relation,
        "object": "table",
        "label": "yes",
        "claim": claim,
        "swapped": swapped,
        "direct": {
            "image": 0.8,
            "text": 1.9,
            "paraphrases": [0.7, 0.9, 0.4, 1.0],
            "ca_bidirectional": 0.3,
            "ca_combined": 0.2,
        },
        "margins": {channel: {r: 0.5 - i for i, r in enumerate(asked)} for channel in CHANNELS} if claim else {},
    }
    return row | changes


def table_of(*rows: dict[str, Any], graph: Graph | None = None) -> MarginTable:
    graph = graph or default_graph()
    return MarginTable(tuple(row_from_fields(row, graph) for row in rows), graph, source="table.jsonl")


def random_rows(
    seed: int, units: int = 30, *, step: float = 0.0, outside: float = 0.0, bias: float = 0.0, shuffled: bool = False
) -> list[dict[str, Any]]:
    """Rows in units of one to six. `step` rounds margins, so that ties abound; `bias` makes a model say yes."""
    rng = np.random.default_rng(seed)
    graph = default_graph()
    relations = list(graph.relations)

    def margin(truth: bool) -> float:
        value = bias + rng.normal() + (0.7 if truth else -0.7)
        return float(np.round(value / step) * step) if step else float(value)

    rows: list[dict[str, Any]] = []
    for unit in range(units):
        for _ in range(rng.integers(1, 7)):
            truth = bool(rng.random() < 0.5)
            relation = "near" if rng.random() < outside else relations[rng.integers(len(relations))]
            row = fields(f"r{len(rows)}", relation, unit=f"u{unit}", label="yes" if truth else "no")
            row["direct"] = {
                "image": margin(truth),
                "text": margin(False),
                "paraphrases": [margin(truth) for _ in range(4)],
                "ca_bidirectional": margin(truth),
                "ca_combined": margin(truth),
            }
            row["margins"] = {
                channel: {r: margin(truth if r == row["claim"] else not truth) for r in named}
                for channel, named in row["margins"].items()
            }
            if rng.random() < 0.1:
                row["answer"] = "yes" if rng.random() < 0.5 else "no"
            rows.append(row)
    if shuffled:
        rng.shuffle(rows)
    return rows


def write(rows: list[dict[str, Any]], path: Path) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path
