"""What this extractor cannot read, and must not pass over in silence: other languages, emoji for names, comparisons."""

from __future__ import annotations

import re
import unicodedata

from recap.claims.text.dressing import EMOJI
from recap.claims.text.words import words

NOT_ENGLISH = "it is not read as English"
NO_NAME = "an emoji stands where a name is needed"
COMPARED = "it compares places in words that are not read"
_WORD = re.compile(r"[^\W\d_]+")
_EMOJI = re.compile("[" + "".join(map(chr, EMOJI)) + "]")
_ARTICLES = r"(?:(?:the|an?|his|her|its|my|your|our|their|this|that)\s+)?"
_COMPARED = re.compile(
    r"\b(?:higher|lower|left|right|closer|nearer|further|farther|deeper|up|down|back|forward)\b[^.;!?]{0,60}?\bthan\b",
    re.IGNORECASE,
)


def is_english(sentence: str) -> bool:
    """Whether a sentence may be English: by its script, and by the small words that no sentence does without.

    >>> is_english("Die Katze liegt auf dem Sofa."), is_english("猫在沙发上。"), is_english("Cat near El Capitan.")
    (False, False, True)
    """
    letters = [letter for letter in sentence if letter.isalpha()]
    if not letters:
        return True
    if sum(_is_latin(letter) for letter in letters) * 2 < len(letters):
        return False
    said = [word.lower() for word in _WORD.findall(sentence)]
    english = sum(word in words()["languages.english"] for word in said)
    other = sum(word in words()["languages.other"] for word in said)
    # A name may hold one: "a shop in La Rambla", "El Capitan".
    shared = any(word in words()["languages.shared"] for word in said)
    named = other == 1 and (shared or (len(said) < 4 and sentence.isascii()))
    return other <= english or named


def unread_emoji(sentence: str, relations: list[tuple[int, int]]) -> bool:
    """Whether an emoji stands beside a relation phrase, where a thing's name does: "🐱 above the 🐭".

    `relations` are the places of the phrases in the sentence.
    """
    for start, end in relations:
        after = re.compile(rf"\s*{_ARTICLES}").match(sentence, end)
        place = after.end() if after else end
        before = sentence[:start].rstrip()
        if _EMOJI.match(sentence, place) or (before and _EMOJI.match(before[-1])):
            return True
    return False


def compares(sentence: str) -> tuple[int, int] | None:
    """Where a sentence compares two places: "nearer the door than the dog"."""
    found = _COMPARED.search(sentence)
    return found.span() if found else None


def _is_latin(letter: str) -> bool:
    return letter.isascii() or "LATIN" in unicodedata.name(letter, "")
