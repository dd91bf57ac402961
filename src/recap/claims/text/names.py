"""Names of things in a row of tagged words: determiners, adjectives, nouns, and what follows an "of"."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from recap.claims.text.chunks import ADJECTIVES, NOUNS, PARTICIPLES, Chunk
from recap.claims.text.tokens import Token
from recap.claims.text.words import words

DETERMINERS = frozenset(("AT0", "DPS", "DT0"))
ALSO_DETERMINERS = frozenset(("no", "both", "another", "any", "some", "all", "neither"))
QUANTITIES = frozenset(
    ("several", "many", "few", "another", "more", "most", "every", "each", "such", "other", "multiple", "various")
)
"""kept in the name: "several boats" """
POINTING = frozenset(("the", "this", "that", "these", "those"))
PARTS = frozenset(("one", "neither", "both", "all", "some", "each", "none", "most", "several", "many", "two", "three"))
MADE = frozenset(
    (
        "covered",
        "filled",
        "lined",
        "topped",
        "shaped",
        "sized",
        "colored",
        "coloured",
        "powered",
        "drawn",
        "themed",
        "stained",
        "framed",
    )
)
"""participles that make one word of a noun and themselves"""
WHERE = frozenset(("position", "location", "placement"))
SIGNS = frozenset(("sign", "trace", "evidence", "hint", "indication"))
PLURAL = frozenset(("two", "three", "four", "five", "six", "several", "many", "few", "both", "2", "3", "4", "5"))


@dataclass(frozen=True)
class _Simple:
    """A name without "of": where it ends, where it begins without its article, its noun."""

    end: int
    first: int
    head: int
    marks: frozenset[str]


@dataclass(frozen=True)
class Names:
    """Finds names in the words of one sentence. `stops` says where a relation phrase ends every name."""

    tokens: Sequence[Token]
    begins_relation: Callable[[int], bool]

    def at(self, start: int) -> tuple[Chunk, int] | None:
        """The name that begins at this word, and the place after it."""
        token = self.tokens[start]
        if (part := self._part_of(start)) is not None:
            return part
        if token.tag in ("PNP", "PNI", "PNX"):
            marks = frozenset({"pronoun"} | ({"no"} if token.low in ("nothing", "nobody", "none") else set()))
            several = token.low in ("they", "them")
            return Chunk("thing", (token,), token.text, head=token, plural=several, marks=marks), start + 1
        simple = self._simple(start)
        return None if simple is None else self._with_of(start, simple)

    def _with_of(self, start: int, name: _Simple) -> tuple[Chunk, int]:
        tokens, end = self.tokens, name.end
        part_of: Token | None = None
        while end + 1 < len(tokens) and tokens[end].tag == "PRF" and (more := self._simple(end + 1)) is not None:
            head = tokens[name.head].low
            if head in SIGNS and ("no" in name.marks or tokens[start].low == "any"):
                # "no sign of a cat on …", "cannot find any trace of a cat on …"
                start, name = end + 1, replace(more, marks=more.marks | (name.marks & {"no"}))
            elif head in words()["places.pictures"] and not (
                self._is_placed(start) or (self._is_hung(more.end) and head not in WHERE)
            ):
                start, name = end + 1, more  # "a photo of a cat": the cat is the thing
            else:
                part_of = tokens[more.head]
            end = more.end
        said = tokens[start:end]
        head = tokens[name.head]
        numbers = {t.low for t in tokens[start : name.head + 1] if t.tag in ("CRD", "DT0")}
        counted = part_of is not None and head.low in ("number", "couple", "lot", "lots")
        counted |= head.tag != "NN1" and bool(
            {t.low for t in tokens[start : name.head] if t.tag == "CRD"} - {"one", "1"}
        )
        plural = head.tag == "NN2" or head.low == "people" or bool(numbers & PLURAL) or counted
        named = joined(tokens[name.first : end])
        first = tokens[name.first]
        if name.first == 0 and "NP0" not in (first.tag, head.tag) and first.text[1:].islower():
            named = named[0].lower() + named[1:]  # a capital at the head of a sentence is no name
        return Chunk("thing", tuple(said), named, head=head, plural=plural, part_of=part_of, marks=name.marks), end

    def _is_placed(self, start: int) -> bool:
        """Whether a picture here is itself in a place, "on the wall hangs a picture of …", or said to be there."""
        return any(self.begins_relation(place) or self.tokens[place].tag == "EX0" for place in range(start))

    def _is_hung(self, after: int) -> bool:
        """Whether what follows "a photo of a cat" is said of the photo: "… hangs on the wall"."""
        low = self.tokens[after].low if after < len(self.tokens) else ""
        return self._tag(after) in ("VVZ", "VBZ", "VBD") or low in ("hanging", "hung", "mounted", "displayed", "pinned")

    def _part_of(self, start: int) -> tuple[Chunk, int] | None:
        """ "one of the cushions", "both of the boys", "neither of the cats"."""
        quantity = self.tokens[start].low
        if quantity not in PARTS or self._tag(start + 1) != "PRF" or (name := self._simple(start + 2)) is None:
            return None
        whole = quantity in ("both", "all", "neither", "none")
        said = self.tokens[name.first if whole else start : name.end]
        marks = name.marks | ({"no"} if quantity in ("neither", "none") else set[str]())
        plural = quantity not in ("one", "each")
        tokens = tuple(self.tokens[start : name.end])
        named = joined(said) if start else joined(said)[0].lower() + joined(said)[1:]
        return Chunk("thing", tokens, named, head=self.tokens[name.head], plural=plural, marks=marks), name.end

    def _tag(self, place: int) -> str:
        return self.tokens[place].tag if 0 <= place < len(self.tokens) else ""

    def _simple(self, start: int) -> _Simple | None:
        tokens, at, marks = self.tokens, start, set[str]()
        while at < len(tokens) and (tokens[at].tag in DETERMINERS or tokens[at].low in ALSO_DETERMINERS):
            low = tokens[at].low
            marks |= {"no"} if low in ("no", "neither") else set()
            marks |= {"own"} if tokens[at].tag == "DPS" else set()
            marks |= {"definite"} if low in POINTING else set()
            at += 1
        determined, first = at > start, at
        while first > start and tokens[first - 1].low in QUANTITIES:
            first -= 1
        head: int | None = None
        while at < len(tokens) and self._continues(at, start, first, head, determined=determined):
            if self._is_head(at, head, determined=determined):
                head = at
            at += 1
        if head is None and determined and first < at and tokens[at - 1].tag in ADJECTIVES:
            head = at - 1  # "the red", "the blue one": an adjective for a noun
        if head is None:
            return None
        return _Simple(head + 1, min(first, head), head, frozenset(marks | (set() if determined else {"bare"})))

    def _is_head(self, at: int, head: int | None, *, determined: bool) -> bool:
        token = self.tokens[at]
        numbered = token.tag == "CRD" and head is not None  # "a Boeing 747"
        letter = token.tag == "ZZ0" and head is None and not determined
        return (
            (token.tag in NOUNS and not letter) or numbered or (token.tag == "VVG" and self._tag(at + 1) not in NOUNS)
        )

    def _continues(self, at: int, start: int, first: int, head: int | None, *, determined: bool) -> bool:
        """Whether a word goes on with the name that was begun."""
        tokens, tag, following = self.tokens, self.tokens[at].tag, self._tag(at + 1)
        previous = self._tag(at - 1)
        if self.begins_relation(at):
            spelt_like_one = tag in NOUNS and head is None and determined and tokens[at].low not in ("left", "right")
            if not spelt_like_one:
                return False
        if tag in NOUNS:
            return True
        if tag == "POS":
            return head is not None
        if head is not None:
            numbered = tag == "CRD" and tokens[head].tag == "NP0"
            made = tokens[at].low in MADE and previous == "NN1" and following in NOUNS  # "a snow covered slope"
            made |= (
                determined and tokens[at].low in words()["things.colours"] and following in NOUNS
            )  # "a neon green sign"
            return made or numbered or (tag in ADJECTIVES and previous == "POS" and following in NOUNS)
        if tag in ADJECTIVES:
            return True
        if tag in PARTICIPLES and following in NOUNS | ADJECTIVES | PARTICIPLES:
            # "a parked car"; without an article only where no clause can begin: "with stuffed toys"
            return determined or at > first or (tag == "VVN" and self._tag(start - 1) in ("PRP", "PRF", "CJC"))
        if tag == "VVG":
            return determined  # "the railing"
        if tag == "AV0":
            return determined and following in ADJECTIVES | PARTICIPLES
        # "a black and white cat", "the black, fluffy cat"
        return tokens[at].low in ("and", ",") and at > first and previous in ADJECTIVES and following in ADJECTIVES


def joined(tokens: Sequence[Token]) -> str:
    """The words as said, with one space wherever there was some."""
    parts = [tokens[0].text] if tokens else []
    for before, token in pairwise(tokens):
        parts.append((" " if token.start > before.end else "") + token.text)
    return "".join(parts)
