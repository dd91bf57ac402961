"""The phrase lexicon: which words say which relation. The words themselves are data, in `lexicon.toml`."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any


@dataclass(frozen=True)
class Match:
    """One relation phrase found in a text, and where."""

    relation: str
    phrase: str
    start: int
    end: int


@dataclass(frozen=True)
class Lexicon:
    """Phrases, the relation and family each one says, and the words a parser must strip or refuse."""

    phrases: dict[str, str]
    """phrase → relation"""
    families: dict[str, str]
    """relation → family, for every relation that can be said (in the graph or not)"""
    strip: dict[str, frozenset[str]]
    refuse: dict[str, frozenset[str]]
    idioms: dict[str, frozenset[str]]
    frames_before: re.Pattern[str]
    frames_asking: re.Pattern[str]
    frames_after: re.Pattern[str]

    def relation_of(self, phrase: str) -> str | None:
        """The relation that exactly this phrase says (a dataset's relation field, say)."""
        return self.phrases.get(" ".join(phrase.lower().split()))

    def with_phrases(self, more: dict[str, tuple[str, str]]) -> Lexicon:
        """This lexicon with further `phrase → (relation, family)`: a user's graph may bring its own words."""
        if not more:
            return self
        phrases = self.phrases | {phrase.lower(): relation for phrase, (relation, _) in more.items()}
        families = self.families | dict(more.values())
        return replace(self, phrases=phrases, families=families)

    def find(self, text: str, only: str | None = None) -> list[Match]:
        """Relation phrases in the text (or only this one), longest first and never overlapping, at word boundaries.

        A hyphen counts as part of a word, so that "in-ear" holds no "in".
        """
        taken: list[Match] = []
        lowered = text.lower()
        wanted = sorted(self.phrases, key=lambda p: (-len(p), p)) if only is None else [only.lower()]
        for phrase in (p for p in wanted if p in lowered):
            for found in re.finditer(rf"(?<![\w-]){re.escape(phrase)}(?![\w-])", text, re.IGNORECASE):
                if all(found.end() <= m.start or found.start() >= m.end for m in taken):
                    relation = self.phrases.get(phrase, phrase.replace(" ", "_"))
                    taken.append(Match(relation, phrase, found.start(), found.end()))
        return sorted(taken, key=lambda m: m.start)


@cache
def default_lexicon() -> Lexicon:
    """The lexicon shipped with the package."""
    data = tomllib.loads(resources.files("recap.claims").joinpath("lexicon.toml").read_text("utf-8"))
    phrases: dict[str, str] = {}
    families: dict[str, str] = {}
    for entry in data["relation"]:
        families[entry["name"]] = entry["family"]
        phrases |= dict.fromkeys(entry["phrases"], entry["name"])
    for phrase in data["other"]["phrases"]:
        name = phrase.replace(" ", "_")
        phrases[phrase], families[name] = name, data["other"]["family"]
    return Lexicon(
        phrases=phrases,
        families=families,
        strip=_word_sets(data["strip"]),
        refuse=_word_sets(data["refuse"]),
        idioms=_word_sets(data["idioms"]),
        frames_before=re.compile(rf"^\s*(?:{'|'.join(data['frames']['before'])})\s*", re.IGNORECASE),
        frames_asking=re.compile(rf"^\s*(?:{'|'.join(data['frames']['asking'])})\s+", re.IGNORECASE),
        frames_after=re.compile(rf"\s*(?:{'|'.join(data['frames']['after'])})\s*[?.!]*$", re.IGNORECASE),
    )


def _word_sets(table: dict[str, Any]) -> dict[str, frozenset[str]]:
    return {name: frozenset(words) for name, words in table.items()}
