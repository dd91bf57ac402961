"""How a thing is named in a question: in the singular or plural, and with or without an article."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

WITHOUT_ARTICLE = frozenset(("another", "each", "every", "one", "most", "all", "both", "some", "two-thirds", "half"))
"""first words of names that take no "the": "Is another zebra on the grass?" """
LOOSE = frozenset(("several", "many", "few", "multiple", "various", "numerous", "more"))
"""first words that say only that there are some: "Are the boats in the harbor?" """
IRREGULAR = frozenset(
    ("people", "men", "women", "children", "feet", "teeth", "mice", "geese", "oxen", "cattle", "police")
)
SAME_IN_PLURAL = frozenset(
    ("sheep", "deer", "fish", "moose", "aircraft", "bison", "salmon", "trout", "swine", "species", "spacecraft")
)
ARTICLES = r"(?:the|a|an|this|that|these|those|my|your|his|her|its|our|their|some|any)"


@dataclass(frozen=True)
class Naming:
    """The grammar of one name."""

    plural: bool = False
    proper: bool = False
    """a name that stands without article: Anna, Mount Fuji, Anna's desk"""
    unique: bool = False
    """a name that is said with "the": the Eiffel Tower, the Smiths' dog"""


SINGULAR = Naming()


def with_article(name: str, naming: Naming = SINGULAR) -> str:
    """A name as a question says it.

    >>> with_article("mug"), with_article("Anna", Naming(proper=True))
    ('the mug', 'Anna')
    >>> with_article("several boats", Naming(plural=True))
    'the boats'
    """
    first, _, rest = name.partition(" ")
    if naming.proper or first.lower() in WITHOUT_ARTICLE:
        return name
    name = re.sub(r"^number of ", "several ", name) if naming.plural else name
    first, _, rest = name.partition(" ")
    return f"the {rest}" if naming.plural and rest and first.lower() in LOOSE else f"the {name}"


def naming_of(name: str, text: str) -> Naming:
    """The grammar of a name that somebody used in this text."""
    words = name.split()
    same = head_of(name).lower() in SAME_IN_PLURAL and re.search(r"\b(?:are|were)\b", text, re.IGNORECASE) is not None
    return Naming(_plural(words) or same, _proper(name, text))


def head_of(name: str) -> str:
    """The noun that a name is about: that before an "of".

    >>> head_of("glass of water"), head_of("red mug")
    ('glass', 'mug')
    """
    words = name.split()
    return words[words.index("of") - 1 if "of" in words[1:] else -1]


def lowered(name: str, text: str) -> str:
    """The name without the capital that it has only because the text begins with it."""
    first, _, rest = name.partition(" ")
    capital = first[:1].isupper() and first[1:].islower() and text.lstrip(" \"'").startswith(first)
    return f"{first.lower()} {rest}".strip() if capital and not _is_name(first) else name


def is_mass(name: str) -> bool:
    """Whether one does not say "a" of it: "Is there water in the picture?" """
    from recap.claims.text.words import words

    return head_of(name).lower() in words()["things.mass"]


def _plural(words: list[str]) -> bool:
    head = head_of(" ".join(words)).lower()
    counted = words[0].lower() in ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "both")
    counted |= words[0].lower() in LOOSE or (words[0].isdigit() and words[0] != "1")
    # Only a word in -s needs the tagger, which takes most of a second to load.
    return counted or head in IRREGULAR or (head.endswith("s") and not head.endswith("ss") and _tag(head) == "NN2")


def _proper(name: str, text: str) -> bool:
    first = name.split()[0]
    if not first[:1].isupper() or re.search(rf"\b{ARTICLES}\s+{re.escape(name)}", text, re.IGNORECASE):
        return False
    return not text.lstrip(" \"'").startswith(first) or _is_name(first)


def _is_name(word: str) -> bool:
    return _tag(word) == "NP0"


@lru_cache(4096)
def _tag(word: str) -> str:
    from recap.claims.text.tokens import tag_word

    return tag_word(word)
