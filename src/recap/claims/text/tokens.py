"""Words of a text with their places and parts of speech. The tags are the British National Corpus's (C5)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from recap.claims.text.dressing import plain

_TITLES = "Mr|Mrs|Ms|Dr|St|Prof|Mt|Ft|Jr|Sr|Sgt|Lt|Capt|Rev|Gen"
_WORD = re.compile(
    rf"(?:{_TITLES})\.(?!\w)|(?<![\w.])(?:[^\W\d_]\.){{2,}}(?!\w)|\d+(?:-[^\W\d_]+)+|\d+(?:[.,]\d+)*"
    r"|[^\W_]+(?:[-.&/][^\W_]+)*|n't|'\w*|[^\w\s]"
)
_END = re.compile(r"(?<=[.!?…])[\s\"')\]]+(?=\S)|(?<![ \t])[ \t]*\n\s*")
_BEFORE_BREAK = re.compile(
    r"(?:,|\b(?:an?|the|of|is|are|was|were|to|in|on|at|and|with|that|which|by|from|under|behind|above|below|next|near|left|right|its|his|her|their))$",
    re.IGNORECASE,
)
_AFTER_BREAK = re.compile(r"(?:of|and|is|are|which|that|with)\b")
"""words at the end or the head of a line that show that a sentence only breaks there"""
_ABBREVIATED = re.compile(rf"\b(?:{_TITLES}|vs|e\.g|i\.e|approx)\.$", re.IGNORECASE)
_MAY_END = re.compile(r"\b(?:etc|no|[a-z](?:\.[a-z])+)\.$", re.IGNORECASE)
"""abbreviations that a sentence may end with; it goes on with a small letter or a number"""
_LISTED = re.compile(r"^\s*(?:[-–•·+>]|\(?\d{1,2}[.)])\s+")
_VERBS = "is|are|was|were|do|does|did|has|have|had|can|could|would|will|should"
_TAGGED = re.compile(
    r"\s*(?:[,–—-]\s*(?:right|correct|yes|no|true|eh|huh|ok|okay|(?:isn't|is) that (?:right|so|correct)"
    r"|(?:wouldn't|don't) you (?:think|say|agree))"
    rf"|[,–—-]?\s*\b(?:{_VERBS}|ai|wo|ca)(?:n't\s+|\s+)(?:it|they|he|she|there|that|this|you|we)(?:\s+not)?)\s*\?[\s)']*$",
    re.IGNORECASE,
)
"""what makes a statement ask for assent: ", isn't it?" """
_ASKING = re.compile(
    rf"\W*(?:and |but |so |or )?(?:what|which|who|whose|whom|where|when|why|how|{_VERBS}|may|might|am)\b", re.IGNORECASE
)
LONGEST_WORD = 24
LONGEST_SENTENCE = 150
"""words: nobody writes longer ones, and reading takes the square of it; they are not read"""


@dataclass(frozen=True)
class Token:
    """One word or sign."""

    text: str
    lemma: str
    tag: str
    start: int
    end: int

    @property
    def low(self) -> str:
        return self.text.lower()


@dataclass(frozen=True)
class Sentence:
    """One sentence, and whether it asks."""

    tokens: tuple[Token, ...]
    start: int
    end: int
    asks: bool
    listed: bool = False
    """whether it is an item of a list"""
    tagged: bool = False
    """whether it states, and asks for assent: "…, isn't it?" """


def sentences(text: str) -> Iterator[Sentence]:
    """The sentences of a text in order, each with its words tagged."""
    body = plain(text)
    for start, end in _spans(body):
        listed = _LISTED.match(body[start:end])
        start += listed.end() if listed else 0
        tag = _question_tag(body, start, end)
        end = tag if tag is not None else end
        words = list(_words(body, start, end))
        if words:
            # A capital at the head of a sentence is no name.
            first = words[0][0]
            lowered = [first.lower() if first != "I" and not first.isupper() else first, *(w for w, _, _ in words[1:])]
            # The tagger takes the square of a word's length: what is no word is shown to it as one.
            shown = [word.rstrip(".") or word if len(word) <= LONGEST_WORD else "thing" for word in lowered]
            known = _tagger().tag_sent(shown, taglevel=1) if len(shown) <= LONGEST_SENTENCE else _untagged(shown)
            tagged = zip(words, known, strict=True)
            tokens = tuple(Token(w, str(lemma).lower(), tag, a, b) for (w, a, b), (_, lemma, tag) in tagged)
            asks = body[start:end].rstrip(" )'").endswith("?")
            yield Sentence(tokens, start, end, asks, listed is not None, tag is not None)


def _question_tag(body: str, start: int, end: int) -> int | None:
    """Where a statement's tag begins: "…, isn't it?"; None where there is none, or all of it asks."""
    tail = max(start, end - 40)
    if "?" not in body[tail:end] or _ASKING.match(body, start, end):
        return None
    tag = _TAGGED.search(body, tail, end)
    return tag.start() if tag and tag.start() > start else None


def _untagged(words: list[str]) -> list[tuple[str, str, str]]:
    return [(word, word, "UNC") for word in words]


def _spans(body: str) -> Iterator[tuple[int, int]]:
    start = 0
    for gap in _END.finditer(body):
        stops = gap.start() > 0 and body[gap.start() - 1] in ".!?…" and "\n" not in gap[0]
        if not (
            (_is_abbreviated(body, gap) or _is_number(body, start, gap.end())) if stops else _is_wrapped(body, gap)
        ):
            yield start, gap.start()
            start = gap.end()
    yield start, len(body)


def _is_wrapped(body: str, gap: re.Match[str]) -> bool:
    """Whether a line breaks inside a sentence."""
    before = body[max(0, gap.start() - LONGEST_WORD) : gap.start()]
    if gap[0].count("\n") > 1 or not before or before[-1] in ".!?…:;" or gap.end() == len(body):
        return False
    goes_on = body[gap.end()].islower()
    return goes_on and bool(_BEFORE_BREAK.search(before) or _AFTER_BREAK.match(body, gap.end()))


def _is_abbreviated(body: str, gap: re.Match[str]) -> bool:
    """Whether the stop before a gap belongs to an abbreviation. Only its last word counts, however long the text."""
    word = body[max(0, gap.start() - LONGEST_WORD) : gap.start()]
    goes_on = body[gap.end()].islower() or body[gap.end()].isdigit()
    return _ABBREVIATED.search(word) is not None or (goes_on and _MAY_END.search(word) is not None)


def _is_number(body: str, start: int, end: int) -> bool:
    """Whether this is all a list's number: "1. " """
    return end - start <= LONGEST_WORD and _LISTED.fullmatch(body[start:end]) is not None


def _words(body: str, start: int, end: int) -> Iterator[tuple[str, int, int]]:
    for found in _WORD.finditer(body, start, end):
        word = found[0]
        if word.lower().endswith("n") and body[found.end() : found.end() + 2].lower() == "'t":
            # "isn't" is "is" and "n't"; "can't" is "ca" and "n't".
            yield word[:-1], found.start(), found.end() - 1
            yield "n't", found.end() - 1, found.end() + 2
        elif not (word.lower() == "'t" and body[found.start() - 1 : found.start()].lower() == "n"):
            yield word, found.start(), found.end()


@cache
def _tagger() -> Any:
    # The package has no types; its English model is part of its wheel.
    hanta: Any = import_module("HanTa.HanoverTagger")
    return hanta.HanoverTagger("morphmodel_en.pgz")


def tag_word(word: str) -> str:
    """The likeliest part of speech of a word by itself."""
    return "UNC" if len(word) > LONGEST_WORD else str(_tagger().analyze(word, taglevel=1)[1])
