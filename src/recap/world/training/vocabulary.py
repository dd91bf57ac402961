"""Every question in which the small models learn a relation, as token ids with a gap for each of the two names."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import zip_longest
from typing import Any

import numpy as np

from recap.arrays import Ints
from recap.models.llava import AFTER, PAD, words_of
from recap.probes import asked_by, question, ways
from recap.world.bundled import checkpoint_folder
from recap.world.truth import RELATIONS

SUBJECT, OBJECT = "subjectgap", "objectgap"


@cache
def vocabulary() -> dict[str, int]:
    """Token ids by word, as the shipped models have them."""
    return json.loads((checkpoint_folder("aligned") / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]


@dataclass(frozen=True)
class Wording:
    """One way of asking one relation."""

    relation: str
    group: str
    """plain, phrases, paraphrases, wrappers or constrained"""
    words: tuple[str, ...]
    """with SUBJECT and OBJECT where the two names go"""


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads(resources.files("recap.world.training").joinpath("wording.toml").read_text("utf-8"))


def usual_groups() -> dict[str, float]:
    """How often each group of wordings is asked in an ordinary step."""
    shares = _data()["shares"]
    return {"plain": 1 - sum(shares.values()), **shares}


@cache
def all_wordings() -> tuple[Wording, ...]:
    """All wordings of all relations."""
    phrases = _data()["phrases"]
    found: list[Wording] = []
    for relation in RELATIONS:
        plain = question(SUBJECT, relation, OBJECT)
        sentences = [("plain", plain)]
        sentences += [("phrases", f"Is the {SUBJECT} {phrase} the {OBJECT}?") for phrase in phrases[relation]]
        for group in ("paraphrases", "wrappers", "constrained"):
            sentences += [(group, asked_by(way, plain, SUBJECT, OBJECT)) for way in ways(group).values()]
        found += [Wording(relation, group, tuple(words_of(text))) for group, text in dict.fromkeys(sentences)]
    return tuple(found)


@dataclass(frozen=True)
class EncodedWordings:
    """Wordings as arrays, one row each, padded at the end: question, then the words before the answer."""

    relation: Ints
    """index into RELATIONS"""
    ids: Ints
    length: Ints
    subject: Ints
    """(rows, 2): where the name of the first thing goes; the second column repeats the first if there is but one"""
    object: Ints
    weight: np.ndarray


def encode(groups: dict[str, float]) -> EncodedWordings:
    """The wordings of the given groups, weighted so that each relation is asked alike and each group by its share."""
    known = vocabulary() | {SUBJECT: 0, OBJECT: 0}
    picked = [each for each in all_wordings() if each.group in groups]
    rows = [[known[word] for word in (*each.words, *AFTER)] for each in picked]
    ids = np.array([*zip_longest(*rows, fillvalue=known[PAD])]).T
    together = [(each.relation, each.group) for each in picked]
    weight = np.array([groups[group] / together.count((relation, group)) for relation, group in together])
    relation = np.array([list(RELATIONS).index(each.relation) for each in picked])
    # A relation without further phrases is asked plainly instead.
    total = np.bincount(relation, weight)
    subject, object_ = (np.array([_places(each.words, gap) for each in picked]) for gap in (SUBJECT, OBJECT))
    return EncodedWordings(relation, ids, np.array([*map(len, rows)]), subject, object_, weight / total[relation])


def _places(words: tuple[str, ...], name: str) -> list[int]:
    found = [place for place, word in enumerate(words) if word == name]
    return [found[0], found[-1]]
