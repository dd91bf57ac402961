"""What must hold in a relation graph as a whole."""

from __future__ import annotations

from collections.abc import Iterator

from recap.claims.graph import Graph, Relation
from recap.errors import did_you_mean

Place = tuple[str, ...]
"""a relation and one of its fields, as they stand in a graph file; empty for the file itself"""


def broken_rules(graph: Graph) -> Iterator[tuple[Place, str]]:
    """What no single value shows: names that do not exist, edges that do not hold both ways. Each with its place."""
    owners: dict[str, str] = {}
    for name, node in graph.relations.items():
        if graph.families and node.family not in graph.families:
            hint = did_you_mean(node.family, graph.families)
            yield (name, "family"), f'{name}: family "{node.family}" is not in [families]{hint}'
        if node.question is not None and not ("{s}" in node.question and "{o}" in node.question):
            yield (name, "question"), f"{name}: question must hold {{s}} and {{o}}"
        for phrase in (" ".join(phrase.lower().split()) for phrase in node.phrases):
            if not phrase:
                yield (name, "phrases"), f"{name}: a phrase is empty"
            elif owners.setdefault(phrase, name) != name:
                yield (name, "phrases"), f'{name}: the phrase "{phrase}" is already one of {owners[phrase]}'
        named = {"contradictions": node.contradictions, "supports": node.supports, "canonical": (node.canonical,)}
        for key, others in named.items():
            for other in others:
                if other is not None and other not in graph:
                    hint = did_you_mean(other, graph.relations)
                    yield (name, key), f'{name}: unknown relation "{other}" in {key}{hint}'
        for key, verb in (("contradictions", "contradict"), ("supports", "support")):
            if name in named[key]:
                yield (name, key), f"{name}: a relation cannot {verb} itself"
        for other in node.supports:
            if other in node.contradictions:
                yield (name, "supports"), f"{name}: support {other} is also a contradiction"
        if len(set(node.contradictions)) < len(node.contradictions):
            yield (name, "contradictions"), f"{name}: a contradiction is listed twice"
        if node.canonical is not None:
            yield from (((name, key), f"{name}: {what}") for key, what in _alias_problems(graph, node))
        else:
            for other in node.contradictions:
                if other in graph and other != name and (why := _one_sided(graph, name, other)):
                    yield (name, "contradictions"), f"{name}: contradiction {other} is not symmetric: {why}"


def _alias_problems(graph: Graph, node: Relation) -> Iterator[tuple[str, str]]:
    if node.supports:
        yield "supports", f"an alias has no supports of its own; state them at {node.canonical}"
    target = graph.relations.get(node.canonical or "")
    if target is None:
        return
    if target is node:
        yield "canonical", "canonical names the relation itself; leave it out"
    elif target.canonical is not None:
        yield "canonical", f"canonical {target.name} is itself an alias of {target.canonical}"
    elif target.family != node.family:
        yield "canonical", f"family differs from that of its canonical relation {target.name}"
    elif (first := graph.inverse(target.name)) != node.name:
        yield "canonical", f"{target.name} has another alias already, {first}"
    mirror = mirrored(graph, target.name)
    if node.contradictions and set(mirror) != set(node.contradictions):
        yield (
            "contradictions",
            f"contradictions are not symmetric under canonicalisation: as {target.name} with swapped roles it has "
            f"{', '.join(mirror) or 'none'}",
        )


def mirrored(graph: Graph, claim: str) -> tuple[str, ...]:
    """The contradictions of a claim, each over the swapped pair; what has no name there is not said."""
    return tuple(b for a in graph.contradictions(claim) if (b := graph.inverse(a)) is not None)


def _one_sided(graph: Graph, name: str, other: str) -> str | None:
    """If c excludes a, then a excludes c, written over a's own canonical pair; otherwise, what is missing.

    `on` excludes `below`, which is `above` with swapped roles; there the reverse would need a name for
    "has on it", which the graph lacks: what cannot be said is not asked for.
    """
    canonical, swapped = graph.canonical(other)
    if not swapped:
        return None if name in graph.contradictions(other) else f"{other} does not list {name}"
    inverse = graph.inverse(name)
    if inverse is None or canonical not in graph or inverse in graph.contradictions(canonical):
        return None
    return f"{other} is {canonical} with swapped roles, which does not list {inverse}"
