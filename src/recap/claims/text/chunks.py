"""A chunk: a few words that act as one, such as a name with its article and adjectives."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from recap.claims.naming import Naming
from recap.claims.text.tokens import Token
from recap.claims.text.words import words

Kind = Literal[
    "thing",
    "verb",
    "relation",
    "with",
    "prep",
    "which",
    "there",
    "and",
    "but",
    "comma",
    "stop",
    "not",
    "mutual",
    "other",
]
NOUNS = frozenset(("NN0", "NN1", "NN2", "NP0", "UNC", "ZZ0"))
ADJECTIVES = frozenset(("AJ0", "AJC", "AJS", "ORD", "CRD"))
PARTICIPLES = frozenset(("VVG", "VVN", "VVD"))


@dataclass(frozen=True)
class Chunk:
    """A few words that act as one."""

    kind: Kind
    tokens: tuple[Token, ...]
    name: str = ""
    """of a thing: as said, without article; of a relation: its name"""
    phrase: str = ""
    """of a relation: the words that say it"""
    head: Token | None = None
    """of a thing: its noun; of a verb group: its last verb"""
    plural: bool = False
    part_of: Token | None = None
    """of a thing with an "of": the noun after it"""
    marks: frozenset[str] = field(default_factory=frozenset[str])
    """of a thing: pronoun, no, definite, own (his, its), bare;
    of a verb group: finite, not, hedged, unreal, be, participle"""

    @property
    def start(self) -> int:
        return self.tokens[0].start

    @property
    def end(self) -> int:
        return self.tokens[-1].end

    @property
    def low(self) -> str:
        return " ".join(token.low for token in self.tokens)

    @property
    def lemma(self) -> str:
        """Of a verb group: its last verb in the dictionary's form."""
        return self.head.lemma if self.head else ""

    @property
    def tag(self) -> str:
        """The part of speech of its noun or last verb."""
        return self.head.tag if self.head else ""

    @property
    def noun(self) -> str:
        """The noun of a thing in lower case."""
        return self.head.low if self.head else ""

    @property
    def naming(self) -> Naming:
        """How a question should say it."""
        whose = any(token.tag == "POS" for token in self.tokens)
        first = next((t for t in self.tokens if t.tag not in ("AT0", "DT0", "DPS")), None)
        named = self.tag == "NP0" or (whose and first is not None and first.tag == "NP0")
        capital = self.head is not None and self.head.text[:1].isupper() and self.head.text[1:].islower()
        unique = (named or capital) and "definite" in self.marks
        return Naming(self.plural, named and "bare" in self.marks, unique)

    def among(self, *sets: str) -> bool:
        """Whether the noun (or its singular) is in one of these sets of words."""
        return self.head is not None and any(self.noun in words()[s] or self.head.lemma in words()[s] for s in sets)
