"""What is read in a text: claims with their places, and what was left open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from recap.claims.naming import SINGULAR, Naming
from recap.claims.parser import Statement

EXISTS = "exists"
"""the relation of a claim that something is in the picture; it extends the graph for texts, and is never part of it"""


@dataclass(frozen=True)
class TextClaim:
    """One claim of a text, where it stands, and the answer it implies: "no" where the text denies it."""

    kind: Literal["relation", "exists"]
    subject: str
    relation: str
    object: str | None
    answer: Literal["yes", "no"]
    start: int
    end: int
    phrase: str
    """the words that say the relation"""
    hedged: bool = False
    """the text says it with reserve: perhaps, might be, seems"""
    naming: tuple[Naming, Naming] = (SINGULAR, SINGULAR)
    """how subject and object are said"""

    def to_json(self) -> dict[str, Any]:
        """As `recap parse --text --json` prints it."""
        document = {
            name: getattr(self, name) for name in ("kind", "subject", "relation", "object", "answer", "start", "end")
        }
        return document | {"hedged": self.hedged}

    def statement(self, families: Mapping[str, str]) -> Statement:
        """What a relation claim states, as the graph takes it."""
        family = families.get(self.relation, "other")
        return Statement(self.subject, self.relation, self.object or "", family, self.phrase, False, self.naming)


@dataclass(frozen=True)
class Unsure:
    """A part of a text that may hold a claim, and why none was read there."""

    start: int
    end: int
    why: str


@dataclass(frozen=True)
class Extraction:
    """Everything that was read in one text."""

    text: str
    claims: tuple[TextClaim, ...]
    unsure: tuple[Unsure, ...]

    def to_json(self) -> dict[str, Any]:
        """As `recap parse --text --json` prints it."""
        return {"claims": [claim.to_json() for claim in self.claims], "unsure": [vars(each) for each in self.unsure]}
