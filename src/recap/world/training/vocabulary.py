"""Every word that the small models know, and every question in which they learned it, as token ids with two gaps."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from recap.probes import asked_by, question, ways
from recap.world.objects import things
from recap.world.scene import Ints
from recap.world.truth import RELATIONS

PAD, BOS, EOS, UNKNOWN, IMAGE = "<pad>", "<s>", "</s>", "<unk>", "<image>"
SPECIAL = (PAD, BOS, EOS, UNKNOWN, IMAGE)
YES, NO = "yes", "no"
SUBJECT, OBJECT = "subjectgap", "objectgap"
BEFORE, AFTER = ("user", ":"), ("assistant", ":")
"""the chat template's words around a question, as the tokenizer sees them"""

CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}{{ message['role'] | upper }}: "
    "{% if message['content'] is string %}{{ message['content'] }}"
    "{% else %}"
    "{% for item in message['content'] %}{% if item['type'] == 'image' %}{{ '<image>\n' }}{% endif %}{% endfor %}"
    "{% for item in message['content'] %}{% if item['type'] == 'text' %}{{ item['text'] }}{% endif %}{% endfor %}"
    "{% endif %}"
    "{{ ' ' if message['role'] == 'user' else eos_token }}{% endfor %}"
    "{% if add_generation_prompt %}ASSISTANT:{% endif %}"
)


def words_of(text: str) -> list[str]:
    """How the tokenizer cuts a text: words and marks, in lower case."""
    return re.findall(r"\w+|[^\w\s]+", text.lower())


@dataclass(frozen=True)
class Way:
    """One way of asking one relation."""

    relation: str
    group: str
    """plain, phrases, paraphrases, wrappers or constrained"""
    words: tuple[str, ...]
    """with SUBJECT and OBJECT where the two names go"""


@cache
def _wording() -> dict[str, Any]:
    return tomllib.loads(resources.files("recap.world.training").joinpath("wording.toml").read_text("utf-8"))


@cache
def all_ways() -> tuple[Way, ...]:
    """All ways of asking all relations."""
    phrases = _wording()["phrases"]
    found: list[Way] = []
    for relation in RELATIONS:
        plain = question(SUBJECT, relation, OBJECT)
        sentences = [("plain", plain)]
        sentences += [("phrases", f"Is the {SUBJECT} {phrase} the {OBJECT}?") for phrase in phrases[relation]]
        for group in ("paraphrases", "wrappers", "constrained"):
            sentences += [(group, asked_by(way, plain, SUBJECT, OBJECT)) for way in ways(group).values()]
        found += [Way(relation, group, tuple(words_of(text))) for group, text in dict.fromkeys(sentences)]
    return tuple(found)


def shares() -> dict[str, float]:
    """How often each way of asking is trained."""
    return _wording()["shares"]


@cache
def vocabulary() -> dict[str, int]:
    """Token ids: special tokens, the answers, then all words in alphabetical order."""
    words = {word for way in all_ways() for word in way.words} - {SUBJECT, OBJECT}
    words |= {*BEFORE, *AFTER, *things(), *words_of("Yes, no, a an the this photo picture image. there it")}
    ordered = [*SPECIAL, YES, NO, *sorted(words - {YES, NO})]
    return {word: number for number, word in enumerate(ordered)}


@dataclass(frozen=True)
class Encoded:
    """Ways of asking as arrays, one row each, padded at the end: question, then the words before the answer."""

    relation: Ints
    """index into RELATIONS"""
    ids: Ints
    length: Ints
    subject: Ints
    """(rows, 2): where the name of the first thing goes; the second column repeats the first if there is but one"""
    object: Ints
    weight: np.ndarray


def encode(groups: dict[str, float]) -> Encoded:
    """The ways of the given groups, weighted so that each relation is asked alike and each group by its share."""
    known = vocabulary()
    picked = [way for way in all_ways() if way.group in groups]
    rows = [[known.get(word, -1) for word in (*way.words, *AFTER)] for way in picked]
    width = max(map(len, rows))
    ids = np.full((len(rows), width), known[PAD])
    for row, found in zip(ids, rows, strict=True):
        row[: len(found)] = found
    gaps = {name: [_places(way.words, name) for way in picked] for name in (SUBJECT, OBJECT)}
    together = [(way.relation, way.group) for way in picked]
    weight = np.array([groups[way.group] / together.count((way.relation, way.group)) for way in picked])
    names = list(RELATIONS)
    # A relation without further phrases is asked plainly instead.
    total = np.array([sum(w for w, way in zip(weight, picked, strict=True) if way.relation == r) for r in names])
    of = np.array([names.index(way.relation) for way in picked])
    return Encoded(
        of,
        ids.clip(0),
        np.array([len(row) for row in rows]),
        np.array(gaps[SUBJECT]),
        np.array(gaps[OBJECT]),
        weight / total[of],
    )


def _places(words: tuple[str, ...], name: str) -> list[int]:
    found = [place for place, word in enumerate(words) if word == name]
    return [found[0], found[-1]]


def tokenizer() -> Any:
    """The tokenizer as transformers and vLLM load it: one token a word."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    inner = Tokenizer(models.WordLevel(vocabulary(), unk_token=UNKNOWN))
    inner.normalizer = normalizers.Lowercase()
    inner.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split(Regex(r"\w+|[^\w\s]+"), "isolated")]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=inner,
        pad_token=PAD,
        bos_token=BOS,
        eos_token=EOS,
        unk_token=UNKNOWN,
        extra_special_tokens={"image_token": IMAGE},
        padding_side="left",
    )
