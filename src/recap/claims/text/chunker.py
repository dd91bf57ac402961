"""A sentence as a row of chunks: names of things, verb groups, relation phrases, and the small words between them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from recap.claims.lexicon import Lexicon, Match
from recap.claims.text.chunks import ADJECTIVES, NOUNS, PARTICIPLES, Chunk, Kind
from recap.claims.text.corrections import corrected
from recap.claims.text.names import Names
from recap.claims.text.tokens import Sentence, Token
from recap.claims.text.words import words

FINITE = re.compile(r"V[BDH][BDZ]|VM0|VV[BDZ]")
_SIDES = re.compile(
    r"\b(?:to|on|at) (?:its|his|her|their) (?:immediate |direct |far )?(left|right)\b"
    r"(?! \w*(?:hand|side|arm|foot|leg|shoulder|ear|eye|wrist|knee))",
    re.IGNORECASE,
)
"""a side of what was named before: "a lamp to its left" """
_ADVERBS = re.compile(r"\b(?:on top|in front)\b(?! of)", re.IGNORECASE)
_GAPS = re.compile(r"\s+")
_KINDS: dict[str, Kind] = {
    "with": "with", "without": "with", "there": "there",
    **dict.fromkeys((",", "(", ")", "–", "—", "-", "/"), "comma"),
    **dict.fromkeys((";", ":", ".", "!"), "stop"),
    **dict.fromkeys(("and", "or", "&"), "and"),
    **dict.fromkeys(("but", "while", "whereas", "although", "though"), "but"),
    **dict.fromkeys(("that", "which", "who", "whose", "where", "whom"), "which"),
    **dict.fromkeys(("not", "n't", "never", "neither", "nor", "nowhere"), "not"),
}  # fmt: skip
_PHRASES: dict[tuple[str, ...], Kind] = {
    ("rather", "than"): "not", ("instead", "of"): "not", ("as", "opposed", "to"): "not",
    ("no", "longer"): "not", ("each", "other"): "mutual", ("one", "another"): "mutual",
    **{(no, only): "other" for no in ("not", "n't") for only in ("only", "just", "merely", "simply")},
}  # fmt: skip
"""small words that mean something else together"""
_INTENDED = frozenset(("about", "going", "ready", "trying", "preparing", "waiting", "supposed", "meant", "used"))
"""before "to sit" and the like, these say that something is not there (yet): "about to sit on …", "used to be on …" """


def chunks(sentence: Sentence, text: str, lexicon: Lexicon) -> list[Chunk]:
    """The chunks of a sentence in order."""
    matches = _matches(sentence, text, lexicon)
    return _Chunker(corrected(sentence.tokens, frozenset(matches)), matches).run()


def _matches(sentence: Sentence, text: str, lexicon: Lexicon) -> dict[int, Match]:
    """Relation phrases by the place of their first letter."""
    body, offset = text[sentence.start : sentence.end], sentence.start
    found = {
        offset + start: Match(m.relation, m.phrase, offset + start, offset + end)
        for m, start, end in relation_phrases(body, lexicon)
    }
    for adverb in _ADVERBS.finditer(body):
        said, at = adverb[0].lower(), offset + adverb.start()
        found[at] = Match(words().adverbs[said], said, at, offset + adverb.end())
    for side in _SIDES.finditer(body):
        start, end = offset + side.start(), offset + side.end()
        found = {at: m for at, m in found.items() if not start <= at < end}
        found[start] = Match(f"{side[1].lower()}_of", f"its {side[1].lower()}", start, end)
    return found


def relation_phrases(body: str, lexicon: Lexicon) -> list[tuple[Match, int, int]]:
    """Relation phrases with their places, however wide the gaps between their words: "to the <b>left</b> of"."""
    single = _GAPS.sub(" ", body)
    if len(single) == len(body):
        return [(m, m.start, m.end) for m in lexicon.find(single)]
    places = [
        place for place, letter in enumerate(body) if not letter.isspace() or not body[place - 1 : place].isspace()
    ]
    return [(m, places[m.start], places[m.end - 1] + 1) for m in lexicon.find(single)]


class _Chunker:
    def __init__(self, tokens: Sequence[Token], matches: dict[int, Match]) -> None:
        self.tokens, self.matches, self.at = tokens, matches, 0
        self.names = Names(tokens, self._ends_a_name)

    def run(self) -> list[Chunk]:
        found: list[Chunk] = []
        while self.at < len(self.tokens):
            found.append(self._next())
        return found

    def _next(self) -> Chunk:
        token = self.tokens[self.at]
        match = self.matches.get(token.start)
        if match is not None and self._is_relation(match):
            return self._relation(match)
        if (kind := self._phrase()) is not None:
            start, self.at = self.at, self.at + kind[1]
            return Chunk(kind[0], tuple(self.tokens[start : self.at]))
        if (name := self.names.at(self.at)) is not None:
            thing, self.at = name
            return thing
        if token.tag[0] == "V" or (token.tag == "XX0" and self._tag(1)[:1] == "V"):
            return self._verb()
        self.at += 1
        return Chunk(_kind(token), (token,))

    def _phrase(self) -> tuple[Kind, int] | None:
        """What a phrase that begins here is, and how many words it has."""
        for phrase, kind in _PHRASES.items():
            if tuple(t.low for t in self.tokens[self.at : self.at + len(phrase)]) == phrase:
                return kind, len(phrase)
        goal = self.tokens[self.at + 2] if self._tag(1) == "TO0" and self._tag(2)[:1] == "V" else None
        intended = self.tokens[self.at].low in _INTENDED and goal is not None
        return ("other", 2) if intended and goal and goal.low in words()["verbs.positions"] | {"stop", "land"} else None

    def _tag(self, ahead: int) -> str:
        place = self.at + ahead
        return self.tokens[place].tag if 0 <= place < len(self.tokens) else ""

    def _is_relation(self, match: Match) -> bool:
        if match.phrase == "with":
            return False  # what it joins is read clause by clause
        # "an inside joke", "the opposite corner": nouns and adjectives that are spelt like a relation
        after_article = self._tag(-1) in ("AT0", "DPS", "AJ0")
        spelt_like_one = " " not in match.phrase and after_article and self._tag(0) != "PRP"
        return not (spelt_like_one and self._tag(1) in NOUNS | {"PRF"})

    def _ends_a_name(self, place: int) -> bool:
        match = self.matches.get(self.tokens[place].start)
        return match is not None and (" " in match.phrase or self.tokens[place].tag not in NOUNS | ADJECTIVES)

    def _relation(self, match: Match) -> Chunk:
        start = self.at
        while self.at < len(self.tokens) and self.tokens[self.at].start < match.end:
            self.at += 1
        return Chunk("relation", tuple(self.tokens[start : self.at]), match.relation, match.phrase)

    def _verb(self) -> Chunk:
        """A verb with its auxiliaries, negation and adverbs: "doesn't seem to be standing"."""
        start, head, marks = self.at, self.at, set[str]()
        while self.at < len(self.tokens) and self._goes_on(start, head):
            token = self.tokens[self.at]
            head = self.at if token.tag[0] == "V" else head
            marks |= {"not"} if token.low in words()["modes.negations"] else set()
            marks |= {"hedged"} if token.low in words()["modes.hedges"] else set()
            marks |= {"unreal"} if token.low in words()["modes.unreal"] else set()
            self.at += 1
        group, main = tuple(self.tokens[start : self.at]), self.tokens[head]
        marks |= {"finite"} if FINITE.match(group[0].tag) else set()
        marks |= {"be"} if main.tag[:2] == "VB" else set()
        alone = main.tag == "VVD" and len(group) == 1
        marks |= {"participle"} if alone or (main.tag in PARTICIPLES and "finite" not in marks) else set()
        return Chunk("verb", group, head=main, marks=frozenset(marks))

    def _goes_on(self, start: int, head: int) -> bool:
        """Whether the word here belongs to the verb group that began at `start`."""
        token, main = self.tokens[self.at], self.tokens[head].tag
        if self.at == start:
            return True
        if token.start in self.matches or self._phrase() is not None:
            return False
        if token.tag[0] == "V":
            # Another finite verb is that of the clause around this one.
            another = token.tag == main == "VVG" or (FINITE.match(token.tag) is not None and main != "VVB")
            return not (main[:2] == "VV" and another)
        if token.low in words()["modes.negations"] and token.low != "no":
            return True
        if token.tag in ("TO0", "AV0", "AVP") and (self._tag(1)[:1] == "V" or self._tag(1) == "XX0"):
            return True
        return token.tag == "AVP" and main[:2] == "VV" and self._tag(1) not in NOUNS


def _kind(token: Token) -> Kind:
    if token.low == "there" and token.tag != "EX0":
        return "other"
    return _KINDS.get(token.low) or ("prep" if token.tag in ("PRP", "PRF", "TO0") else "other")
