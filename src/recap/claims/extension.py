"""More contradictions for a relation graph, found over the relations that people ask rather than their canonical forms.

The graph states its contradictions at canonical relations; an alias has the mirror image of theirs. A contradiction
found for `right_of` over (s, o) is therefore one of `left_of` over (o, s), provided that what it is set against has
a name with swapped roles, and that both were found alike. Where that fails the alias cannot stay one: it becomes
a claim of its own, asked over its own pair.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from recap.claims.graph import Graph, Relation

Edges = set[tuple[str, str]]


def excludes(graph: Graph, source: str, target: str) -> bool:
    """Whether the graph sets `target` against `source`, both over the same ordered pair and as they are asked."""
    canonical, swapped = graph.canonical(source)
    against = graph.inverse(target) if swapped else target
    return against in graph.contradictions(canonical)


def supports(graph: Graph, relation: str) -> dict[str, float]:
    """S of a relation as it is asked: for an alias, the mirror image of its canonical relation's as far as named."""
    canonical, swapped = graph.canonical(relation)
    stated = graph.supports(canonical)
    if not swapped:
        return dict(stated)
    return {name: weight for other, weight in stated.items() if (name := graph.inverse(other)) is not None}


def extend_graph(graph: Graph, exclusions: Iterable[tuple[str, str]]) -> Graph:
    """The graph in which these pairs of relations, as asked over one ordered pair, exclude each other as well.

    What supports a relation cannot also exclude it: leave such pairs out.
    """
    edges = {(a, b) for a in graph.relations for b in graph.relations if excludes(graph, a, b)}
    edges |= {edge for a, b in exclusions for edge in ((a, b), (b, a))}
    own = _own_claims(graph, edges)
    return Graph({name: _extended(graph, name, own, edges) for name in graph.relations}, graph.families)


def _own_claims(graph: Graph, edges: Edges) -> set[str]:
    """The aliases that cannot stay aliases. Each that goes takes a name for swapped roles away from the others."""
    own: set[str] = set()

    def mirror(relation: str) -> str | None:
        other = graph.inverse(relation)
        return None if relation in own or other in own else other

    def stays(alias: str) -> bool:
        canonical = graph.canonical(alias)[0]
        said = {mirror(b) for a, b in edges if a == alias}
        return None not in said and said == {b for a, b in edges if a == canonical and mirror(b) is not None}

    aliases = {node.name for node in graph.relations.values() if node.canonical}
    while gone := {alias for alias in aliases - own if not stays(alias)}:
        own |= gone
    # Now that it is a claim, what it is set against can be said of it too.
    edges |= {(b, a) for a, b in edges if b in own}
    return own


def _extended(graph: Graph, name: str, own: set[str], edges: Edges) -> Relation:
    node = graph.relations[name]
    stated = [other for other in node.contradictions if (name, other) in edges]
    against = (*stated, *(other for other in graph.relations if (name, other) in edges and other not in stated))
    if name in own:
        return replace(node, canonical=None, contradictions=against, supports=supports(graph, name))
    return replace(node, contradictions=against)
