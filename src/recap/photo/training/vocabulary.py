"""Every question in which the model for photographs learns, as token ids with gaps for the things' names.

A thing's name has up to two words, so every name has two places in a question; what a shorter name leaves empty is
closed up when the question is put together.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from recap.arrays import Ints
from recap.claims import default_lexicon
from recap.models.llava import AFTER, BEFORE, BOS, EOS, NO, PAD, YES, words_of
from recap.photo.things import things
from recap.probes import asked_by, question, ways

UNKNOWN, IMAGE = "<unk>", "<image>"
SUBJECT, OBJECT, ARTICLE = "subjectgap", "objectgap", "articlegap"
GAPS = {ARTICLE: (-5,), SUBJECT: (-1, -2), OBJECT: (-3, -4)}
NAME = 2
"""the most words in a name"""


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads(resources.files("recap.photo.training").joinpath("wording.toml").read_text("utf-8"))


@cache
def relations() -> tuple[str, ...]:
    """Every relation that the lexicon names, those of the graph first."""
    return tuple(default_lexicon().families)


@cache
def topics() -> tuple[str, ...]:
    """What can be asked: a relation, whether a thing is there, in which part of the picture it is."""
    return (*relations(), *_data()["places"], "exists")


@cache
def sentences() -> tuple[tuple[str, str, str], ...]:
    """All wordings: topic, group, sentence with gaps."""
    found: list[tuple[str, str, str]] = []
    lexicon = default_lexicon()
    for relation in relations():
        plain = question(SUBJECT, relation, OBJECT)
        found.append((relation, "plain", plain))
        told = [phrase for phrase in phrases_of(lexicon, relation) if not phrase.startswith("contain")]
        found += [(relation, "phrases", question(SUBJECT, relation, OBJECT, phrase=each)) for each in told]
        for group in ("paraphrases", "wrappers", "constrained"):
            found += [(relation, group, asked_by(way, plain, SUBJECT, OBJECT)) for way in ways(group).values()]
    for topic, asked in {**_data()["places"], "exists": _data()["exists"]}.items():
        said = [each.replace("{a}", ARTICLE).replace("{s}", SUBJECT) for each in asked]
        found += [(topic, "plain" if place == 0 else "phrases", each) for place, each in enumerate(said)]
        for way in ("according", "carefully", "evidence"):
            found.append((topic, "paraphrases", asked_by(ways("paraphrases")[way], said[0], SUBJECT, OBJECT)))
        found += [(topic, "wrappers", asked_by(way, said[0], SUBJECT, OBJECT)) for way in ways("wrappers").values()]
    return tuple(dict.fromkeys(found))


def phrases_of(lexicon: Any, relation: str) -> list[str]:
    """The phrases by which a relation is said."""
    return [phrase for phrase, name in lexicon.phrases.items() if name == relation]


@cache
def vocabulary() -> dict[str, int]:
    """Token ids by word: special ones, answers, then every word of a question or a name, sorted."""
    texts = [text for _, _, text in sentences()] + [*things(), *(each for names in things().values() for each in names)]
    words = {word for text in texts for word in words_of(text)} | {*BEFORE, *AFTER, "a", "an", *_data()["words"]}
    words -= {SUBJECT, OBJECT, ARTICLE, YES, NO}
    return {word: place for place, word in enumerate((PAD, BOS, EOS, UNKNOWN, IMAGE, YES, NO, *sorted(words)))}


@dataclass(frozen=True)
class Names:
    """Names as token ids, (names, NAME), padded at the end."""

    ids: Ints
    article: Ints
    """(names,): "a", "an", or nothing before what is said in the plural"""
    kind: Ints
    """(names,): the class"""
    first: Ints
    """(classes,): the row of each thing's own name"""
    count: Ints
    """(classes,): how many names each thing has; they follow one another"""


def article_of(name: str) -> str:
    """ "a", "an", or nothing before what is said in the plural."""
    return "" if name in _data()["plural"] else "an" if name[0] in "aeiou" else "a"


@cache
def names() -> Names:
    """The things' names in rows, each thing's own name before its others."""
    known = vocabulary()
    rows = [(kind, name) for kind, (own, others) in enumerate(things().items()) for name in (own, *others)]
    ids = np.full((len(rows), NAME), known[PAD])
    article: list[int] = []
    for place, (_, name) in enumerate(rows):
        tokens = [known[word] for word in words_of(name)]
        ids[place, : len(tokens)] = tokens
        article.append(known[article_of(name) or PAD])
    kind = np.array([kind for kind, _ in rows])
    count = np.bincount(kind)
    return Names(ids, np.array(article), kind, np.cumsum(count) - count, count)


@dataclass(frozen=True)
class Templates:
    """Wordings of some groups as arrays, one row each, padded at the end: question, and the words before the answer."""

    topic: Ints
    ids: Ints
    """(rows, width): gaps are negative"""
    weight: np.ndarray
    """within its topic"""


def templates(groups: dict[str, float], width: int) -> Templates:
    """The wordings of the given groups that fit, each topic's weights summing to 1."""
    known = vocabulary()
    rows: list[tuple[int, str, list[int]]] = []
    for topic, group, text in sentences():
        if group in groups:
            tokens = [t for word in (*words_of(text), *AFTER) for t in GAPS.get(word, (known.get(word, 0),))]
            if len(tokens) <= width:
                rows.append((topics().index(topic), group, tokens))
    together = [(topic, group) for topic, group, _ in rows]
    weight = np.array([groups[group] / together.count((topic, group)) for topic, group in together])
    topic = np.array([topic for topic, _, _ in rows])
    total = np.bincount(topic, weight, minlength=len(topics()))
    ids = np.full((len(rows), width), known[PAD])
    for place, (_, _, tokens) in enumerate(rows):
        ids[place, : len(tokens)] = tokens
    return Templates(topic, ids, weight / total[topic])


def unknown_words(text: str) -> list[str]:
    """Words of a text that the model has no token for."""
    return [word for word in words_of(text) if word not in vocabulary()]


def encode(texts: Iterable[str]) -> list[list[int]]:
    """Token ids of texts."""
    known = vocabulary()
    return [[known.get(word, known[UNKNOWN]) for word in words_of(text)] for text in texts]
