"""Writing a graph file: what `load_graph` reads back as the same graph, with a word beside each contradiction."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from recap.claims.graph import Graph, Relation

Notes = Mapping[tuple[str, str], str]
"""(relation, contradiction) → what stands beside it"""


def graph_text(graph: Graph, header: Sequence[str] = (), notes: Notes | None = None) -> str:
    """The graph as TOML. `header` stands above it and `notes` beside the edges, as comments."""
    blocks = ["\n".join(f"# {line}".rstrip() for line in header)] if header else []
    blocks.append("version = 1")
    if graph.families:
        named = [f"{_key(name)} = {_string(title)}" for name, title in graph.families.items()]
        blocks.append("\n".join(["[families]", *named]))
    blocks += ["\n".join(_relation(node, notes or {})) for node in graph.relations.values()]
    return "\n\n".join(blocks) + "\n"


def _relation(node: Relation, notes: Notes) -> list[str]:
    lines = [f"[relations.{_key(node.name)}]", f"family = {_string(node.family)}"]
    if node.canonical is not None:
        # Its contradictions follow from its canonical relation; only what was noted of them is kept.
        lines.append(f"canonical = {_string(node.canonical)}")
        lines += [f"# {other}: {note}" for (name, other), note in notes.items() if name == node.name]
    elif node.contradictions:
        lines += _contradictions(node, notes)
    if node.supports and node.canonical is None:
        stated = ", ".join(f"{_key(other)} = {weight!r}" for other, weight in node.supports.items())
        lines.append(f"supports = {{ {stated} }}")
    if node.phrases:
        lines.append(f"phrases = [{', '.join(map(_string, node.phrases))}]")
    if node.question is not None:
        lines.append(f"question = {_string(node.question)}")
    return lines


def _contradictions(node: Relation, notes: Notes) -> list[str]:
    named = [_string(other) for other in node.contradictions]
    if not any((node.name, other) in notes for other in node.contradictions):
        return [f"contradictions = [{', '.join(named)}]"]
    width = max(map(len, named)) + 1
    lines = ["contradictions = ["]
    for text, other in zip(named, node.contradictions, strict=True):
        note = notes.get((node.name, other))
        lines.append(f"    {text + ',':<{width}}  # {note}" if note else f"    {text},")
    return [*lines, "]"]


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _string(name)


def _string(text: str) -> str:
    """A TOML basic string. JSON's is one, but for the one control character that JSON lets stand."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
