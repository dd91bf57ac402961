"""Tags put right where a caption's grammar is plainer than the tagger's: "A man talks on …" has a verb."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from recap.claims.text.chunks import ADJECTIVES, NOUNS
from recap.claims.text.tokens import Token
from recap.claims.text.words import words

NO_NAMES = frozenset(("AVP", "AV0", "VVB", "VVZ", "VVG", "VVN", "VVD", "VVI", "PRP", "ITJ", "VM0"))
AFTER_VERBS = frozenset(("PRP", "AVP", "AT0", "DPS", "AV0", "TO0", "PNP"))
PERCEIVING = frozenset(("see", "watch", "hear", "let", "make", "help", "have", "observe", "notice", "feel"))
"""verbs after which somebody does something in the plain form"""
CONTRACTING = frozenset(("that", "it", "he", "she", "there", "who"))


def corrected(tokens: Sequence[Token], relations: frozenset[int]) -> list[Token]:
    """The words with better tags. `relations` are the places where relation phrases begin."""
    fixed = list(tokens)
    for i in range(len(fixed)):
        tag = _better(fixed, i, relations)
        if tag is not None:
            lemma = _base(fixed[i].low) if tag == "VVZ" else fixed[i].lemma
            fixed[i] = replace(fixed[i], tag=tag, lemma=lemma)
    return fixed


def _better(tokens: Sequence[Token], i: int, relations: frozenset[int]) -> str | None:
    token, low = tokens[i], tokens[i].low
    before = tokens[i - 1] if i else None
    after = tokens[i + 1] if i + 1 < len(tokens) else None
    following = after.tag if after else ""
    if low == "cannot":
        return "VM0"
    if low == "several":
        return "DT0"
    if token.tag[:1] != "P" and not any(letter.isalnum() for letter in low) and low != "&":
        return "PUN"  # an emoji is no noun
    if before is None:
        return None
    if token.tag in NOUNS and before.tag == "NN2" and low in words()["verbs.aiming"] and _is(after, "at"):
        return "VVB"  # "Two dogs bark at …"
    if token.tag == "NN2" and low.endswith("s"):
        singular = before.tag in ("NN1", "UNC", "NP0") and _article(tokens, i - 1) in ("a", "an", "one")
        aims = _is(after, "at") and _base(low) in words()["verbs.aiming"]
        if aims and before.tag in ("NN1", "UNC", "NP0"):
            return "VVZ"  # "The dog barks at …"
        goes_on = following in AFTER_VERBS or (after is not None and after.start in relations)
        return "VVZ" if (singular and goes_on) or before.low in ("who", "that", "which") else None
    if token.tag in ("VVB", "VVI") and before.tag == "CJC" and i > 1 and tokens[i - 2].tag in NOUNS:
        # "a keyboard, mouse and monitor on a desk": the last of a list
        return "NN1" if following in ("PRP", "PUN", "VBB", "VBD", "") else None
    if token.tag in ("VVB", "VVI") and before.tag == "NN1" and _names_one(tokens, i - 1):
        # "beneath a highway overpass", "a bus stop next to …": one thing takes no plain verb, "a cat and a dog sit" do
        if low in words()["verbs.positions"] and any(t.tag == "CJC" for t in tokens[:i]):
            return None
        return "NN1" if following in ("PUN", "CJC", "PRP", "VBZ", "") or _begins(after, relations) else None
    if token.tag in NOUNS and low in words()["verbs.positions"] and before.tag in NOUNS:
        # "a pen and a cup rest on a desk", "on which the trophies stand", but "a hot dog stand beside …"
        several = before.tag == "NN2" or any(t.tag == "CJC" for t in tokens[:i])
        placed = _begins(after, relations) and _lacks_verb(tokens)
        relative = before.tag == "NN2" and any(t.tag == "DTQ" for t in tokens[:i]) and following[:1] in ("V", "P", "")
        return "VVB" if several and (placed or relative) else None
    if low in ("can", "cans") and token.tag != "NN1":
        return "NN1" if before.tag in NOUNS | {"AT0", "AJ0", "DPS"} and following[:1] not in ("V", "X", "A") else None
    if low == "up" and before.low == "close" and following == "PRF":
        return "NN1"
    if low == "that" and before.tag in NOUNS and following[:1] == "V":
        return "CJT"
    if low == "'s" and token.tag == "POS" and before.low in CONTRACTING:
        return "VBZ"
    name = token.text[0].isupper() and len(token.text) > 1 and token.tag in NO_NAMES
    return "NP0" if name and token.start not in relations and before.text not in ":.;,(-" else None


def _is(token: Token | None, low: str) -> bool:
    return token is not None and token.low == low


def _begins(token: Token | None, relations: frozenset[int]) -> bool:
    return token is not None and token.start in relations


def _article(tokens: Sequence[Token], at: int) -> str:
    while at >= 0 and tokens[at].tag in NOUNS | ADJECTIVES:
        at -= 1
    return tokens[at].low if at >= 0 else ""


def _names_one(tokens: Sequence[Token], at: int) -> bool:
    """Whether the noun there has an article, and nobody saw or let it do something: "watching a dog jump"."""
    seen = any(t.lemma in PERCEIVING and t.tag[0] == "V" for t in tokens[:at])
    return _article(tokens, at) in ("a", "an", "one", "the", "this", "that") and not seen


def _lacks_verb(tokens: Sequence[Token]) -> bool:
    return not any(t.tag[0] == "V" for t in tokens)


def _base(verb: str) -> str:
    """A verb without the ending of its third person."""
    if verb.endswith("ies"):
        return verb[:-3] + "y"
    return re.sub(r"(?<=ch|sh|ss)es$|s$", "", verb)
