"""The words of `words.toml`, and the lexicon with the phrases that only running text uses."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from recap.claims.lexicon import Lexicon


@dataclass(frozen=True)
class Words:
    """What kinds of words do in a clause; every set as the file names it."""

    phrases: dict[str, str]
    """phrase of running text → relation"""
    adverbs: dict[str, str]
    claimed: frozenset[str]
    """relations outside the graph that running text may claim"""
    idioms: dict[str, dict[str, frozenset[str]]]
    sets: dict[str, frozenset[str]]
    """`table.key` → words"""

    def __getitem__(self, name: str) -> frozenset[str]:
        return self.sets[name]


@cache
def words() -> Words:
    """The words shipped with the package."""
    data: dict[str, Any] = tomllib.loads(resources.files("recap.claims.text").joinpath("words.toml").read_text("utf-8"))
    tables = ("places", "things", "verbs", "modes", "languages", "abstract")
    return Words(
        phrases={phrase: entry["name"] for entry in data["relation"] for phrase in entry["phrases"]},
        adverbs=data["adverbs"],
        claimed=frozenset(data["uncovered"]["claimed"]),
        idioms={prep: {kind: frozenset(some) for kind, some in of.items()} for prep, of in data["idioms"].items()},
        sets={f"{table}.{key}": frozenset(some) for table in tables for key, some in data[table].items()},
    )


def text_lexicon(lexicon: Lexicon) -> Lexicon:
    """A lexicon with the phrases of running text beside its own."""
    more = {p: (r, lexicon.families.get(r, "other")) for p, r in words().phrases.items() if p not in lexicon.phrases}
    return lexicon.with_phrases(more)
