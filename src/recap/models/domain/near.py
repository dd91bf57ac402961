"""The known thing that another word names or says more about: for hints, never for verdicts."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator
from functools import cache
from importlib import resources

MEASURES = frozenset(
    {"bunch", "couple", "crowd", "flock", "group", "half", "herd", "kind", "line", "lot", "pair", "part", "piece",
     "pile", "row", "set", "slice", "sort", "stack", "team", "type"}
)  # fmt: skip
"""before "of", such a word counts or portions the thing, which comes after it: a slice of pizza"""
ENDINGS = (("", ""), ("s", ""), ("es", ""), ("ies", "y"), ("ves", "f"), ("ves", "fe"), ("men", "man"))
"""of plurals, and what a singular has instead"""


@cache
def near_words() -> dict[str, tuple[str, ...]]:
    """Everyday words, each with the things that it names a kind of, in order of preference.

    >>> near_words()["seagull"]
    ('bird',)
    """
    text = resources.files("recap.models.domain").joinpath("near.toml").read_text("utf-8")
    found: dict[str, tuple[str, ...]] = {}
    for thing, words in tomllib.loads(text).items():
        for word in words:
            found[word] = (*found.get(word, ()), thing)
    return found


def nearest_known(name: str, things: Collection[str]) -> str | None:
    """The thing among these that a name is a kind of, a plural of or says more about; None without one.

    The longest ending of the name that leads to one counts, as English puts its nouns last: "young man" is a man,
    "dog food" no dog.

    >>> [nearest_known(name, ("person", "cat")) for name in ("young women", "black cats", "cat food")]
    ['person', 'cat', None]
    """
    for words in _nouns(name.lower().replace("-", " ").split()):
        for start in range(len(words)):
            for form in _singulars(" ".join(words[start:])):
                known = next((thing for thing in (form, *near_words().get(form, ())) if thing in things), None)
                if known is not None:
                    return known
    return None


def _nouns(words: list[str]) -> Iterator[list[str]]:
    """The part of a name that ends in its noun: a bottle of wine is a bottle, a pair of scissors are scissors."""
    if "of" not in words:
        yield words
        return
    of = words.index("of")
    yield words[:of]
    if of and any(form in MEASURES for form in _singulars(words[of - 1])):
        yield from _nouns(words[of + 1 :])


def _singulars(word: str) -> Iterator[str]:
    return (word.removesuffix(ending) + instead for ending, instead in ENDINGS if word.endswith(ending))
