"""The relation graph G = (V, E_A, E_S, β): what contradicts a claim, what should hold with it (Table 1)."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property

from recap.claims.lexicon import Lexicon, default_lexicon
from recap.claims.naming import Naming
from recap.claims.parser import Statement, as_said, parse
from recap.errors import RecapError, did_you_mean


@dataclass(frozen=True)
class Relation:
    """A node of the graph, as its file states it."""

    name: str
    family: str
    canonical: str | None = None
    """the relation that says the same with the two objects swapped, if this one is an alias"""
    contradictions: tuple[str, ...] = ()
    supports: dict[str, float] = field(default_factory=dict[str, float])
    phrases: tuple[str, ...] = ()
    """further phrases by which the parser should know it"""
    question: str | None = None
    """its own wording, "Is the {s} … the {o}?", where the default would read badly"""


@dataclass(frozen=True)
class Claim:
    """A statement in canonical form: the relation that is tested, over the (possibly swapped) ordered pair.

    Outside the graph `relation` is None and nothing but the direct question can be asked.
    """

    statement: Statement
    relation: str | None
    swapped: bool
    subject: str
    object: str
    contradictions: tuple[str, ...] = ()
    supports: dict[str, float] = field(default_factory=dict[str, float])

    @property
    def naming(self) -> tuple[Naming, Naming]:
        """How the two things of the canonical pair are said."""
        subject, obj = self.statement.naming
        return (obj, subject) if self.swapped else (subject, obj)

    @property
    def covered(self) -> bool:
        """Whether the graph knows the relation."""
        return self.relation is not None


@dataclass(frozen=True)
class Graph:
    """Relations with their canonical forms, contradictions A(c) and supports S(c). Build one with `load_graph`."""

    relations: dict[str, Relation]
    families: dict[str, str]
    """family → the name people read"""

    def __repr__(self) -> str:
        return f"Graph({len(self.relations)} relations in {len(self.families)} families, {self.hash[:19]})"

    def __contains__(self, relation: object) -> bool:
        return relation in self.relations

    def canonical(self, relation: str) -> tuple[str, bool]:
        """The canonical relation, and whether the two objects swap roles on the way there."""
        node = self._node(relation)
        return (node.canonical, True) if node.canonical else (relation, False)

    def inverse(self, relation: str) -> str | None:
        """The name that says the same with the two objects swapped, if the graph has one."""
        canonical = self._node(relation).canonical if relation in self else None
        return canonical or next((node.name for node in self.relations.values() if node.canonical == relation), None)

    def contradictions(self, claim: str) -> tuple[str, ...]:
        """A(c): relations over the same ordered pair that conflict with a positive claim."""
        return self._node(claim).contradictions

    def supports(self, claim: str) -> dict[str, float]:
        """S(c) with weights β: what should usually hold when the claim does."""
        return self._node(claim).supports

    def family(self, relation: str) -> str:
        """The relation's family name, `left_right` say."""
        return self._node(relation).family

    def family_of(self, relation: str) -> str:
        """The family of any relation: this graph's, else the lexicon's, else `other`."""
        if relation in self:
            return self.family(relation)
        return self.lexicon.families.get(relation, "other")

    def claim(self, statement: Statement) -> Claim:
        """The canonical claim that a statement makes (uncovered where the graph does not know its relation)."""
        if statement.relation not in self:
            return Claim(statement, None, False, statement.subject, statement.object)
        relation, swapped = self.canonical(statement.relation)
        pair = (statement.object, statement.subject) if swapped else (statement.subject, statement.object)
        edges = self.contradictions(relation), dict(self.supports(relation))
        return Claim(statement, relation, swapped, *pair, *edges)

    def parse(self, text: str) -> Claim:
        """Read a question or statement with the lexicon and this graph's own phrases."""
        return self.claim(as_said(parse(text, self.lexicon), text))

    @cached_property
    def lexicon(self) -> Lexicon:
        """The default phrases, and those this graph's file adds."""
        more = {p: (r.name, r.family) for r in self.relations.values() for p in r.phrases}
        return default_lexicon().with_phrases(more)

    @cached_property
    def hash(self) -> str:
        """A stable name for what the graph means: order, comments, phrases and wording do not change it."""
        meaning = {
            relation.name: {
                "family": relation.family,
                "canonical": relation.canonical,
                "contradictions": sorted(relation.contradictions),
                "supports": relation.supports,
            }
            for relation in self.relations.values()
        }
        return "sha256:" + hashlib.sha256(json.dumps(meaning, sort_keys=True).encode()).hexdigest()

    def _node(self, relation: str) -> Relation:
        try:
            return self.relations[relation]
        except KeyError:
            hint = did_you_mean(relation, self.relations)
            raise RecapError(f'unknown relation "{relation}"{hint}') from None
