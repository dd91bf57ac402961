"""A relation graph as the text of a graph file, which reads back as the same graph."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from recap.claims.graph import Graph, Relation

Notes = Mapping[tuple[str, str], str]
"""(relation, contradiction) → what stands beside it in the file"""


def graph_text(graph: Graph, header: Sequence[str] = (), notes: Notes | None = None) -> str:
    """The graph as TOML. `header` stands above it and `notes` beside the edges, as comments."""
    blocks = ["\n".join(f"# {line}".rstrip() for line in header)] if header else []
    blocks.append("version = 1")
    if graph.families:
        named = [f"{_key(name)} = {_string(title)}" for name, title in graph.families.items()]
        blocks.append("\n".join(["[families]", *named]))
    blocks += ["\n".join(_relation_lines(node, notes or {})) for node in graph.relations.values()]
    return "\n\n".join(blocks) + "\n"


def _relation_lines(node: Relation, notes: Notes) -> Iterator[str]:
    yield f"[relations.{_key(node.name)}]"
    yield f"family = {_string(node.family)}"
    if node.canonical is not None:
        # Its contradictions follow from its canonical relation; only what was noted of them is kept.
        yield f"canonical = {_string(node.canonical)}"
        yield from (f"# {other}: {note}" for (name, other), note in notes.items() if name == node.name)
    elif any((node.name, other) in notes for other in node.contradictions):
        yield "contradictions = ["
        width = max(len(_string(other)) for other in node.contradictions) + 1
        for other in node.contradictions:
            note = notes.get((node.name, other))
            yield f"    {_string(other) + ',':<{width}}  # {note}" if note else f"    {_string(other)},"
        yield "]"
    elif node.contradictions:
        yield f"contradictions = [{', '.join(map(_string, node.contradictions))}]"
    if node.supports and node.canonical is None:
        stated = ", ".join(f"{_key(other)} = {weight!r}" for other, weight in node.supports.items())
        yield f"supports = {{ {stated} }}"
    if node.phrases:
        yield f"phrases = [{', '.join(map(_string, node.phrases))}]"
    if node.question is not None:
        yield f"question = {_string(node.question)}"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _string(name)


def _string(text: str) -> str:
    """A TOML basic string. JSON's is one, but for the one control character that JSON lets stand."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
