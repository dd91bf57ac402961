"""A sentence as a row of chunks: names of things, verb groups, relation phrases, and the small words between them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from recap.claims.lexicon import Lexicon, Match
from recap.claims.text.tokens import Sentence, Token
from recap.claims.text.words import words

Kind = Literal["thing", "verb", "relation", "with", "prep", "which", "there", "and", "but", "comma", "stop", "not", "other"]

NOUNS = frozenset(("NN0", "NN1", "NN2", "NP0", "UNC", "ZZ0"))
ADJECTIVES = frozenset(("AJ0", "AJC", "AJS", "ORD", "CRD"))
PARTICIPLES = frozenset(("VVG", "VVN", "VVD"))
FINITE = re.compile(r"V[BDH][BDZ]|VM0|VV[BDZ]")
_SIDES = re.compile(r"\b(?:to|on|at) (its|his|her|their) (?:immediate |direct |far )?(left|right)\b(?! \w*(?:hand|side|arm|foot|leg|shoulder|ear|eye|wrist|knee))", re.IGNORECASE)
"""a side of what was named before: "a lamp to its left" """


@dataclass(frozen=True)
class Chunk:
    """A few words that act as one."""

    kind: Kind
    tokens: tuple[Token, ...]
    name: str = ""
    """of a thing: as said, without article; of a relation: its name"""
    phrase: str = ""
    """of a relation: the words that say it"""
    head: Token | None = None
    """of a thing: its noun; of a verb group: its last verb"""
    plural: bool = False
    marks: frozenset[str] = field(default_factory=frozenset[str])
    """of a thing: pronoun, no, definite, own (his, its), bare; of a verb group: finite, not, hedged, unreal, be, participle"""

    @property
    def start(self) -> int:
        return self.tokens[0].start

    @property
    def end(self) -> int:
        return self.tokens[-1].end

    @property
    def low(self) -> str:
        return " ".join(token.low for token in self.tokens)

    @property
    def noun(self) -> str:
        """The noun of a thing in lower case."""
        return self.head.low if self.head else ""

    def among(self, *sets: str) -> bool:
        """Whether the noun (or its singular) is in one of these sets of words."""
        return self.head is not None and any(self.noun in words()[s] or self.head.lemma in words()[s] for s in sets)


def chunks(sentence: Sentence, text: str, lexicon: Lexicon) -> list[Chunk]:
    """The chunks of a sentence in order."""
    return _Chunker(sentence.tokens, _matches(sentence, text, lexicon)).run()


def _matches(sentence: Sentence, text: str, lexicon: Lexicon) -> dict[int, Match]:
    """Relation phrases by the place of their first letter."""
    body = text[sentence.start : sentence.end]
    found = {sentence.start + m.start: Match(m.relation, m.phrase, sentence.start + m.start, sentence.start + m.end) for m in lexicon.find(body)}
    for side in _SIDES.finditer(body):
        at = sentence.start + side.start()
        found = {start: m for start, m in found.items() if not at <= start < sentence.start + side.end()}
        found[at] = Match(f"{side[2].lower()}_of", "its " + side[2].lower(), at, sentence.start + side.end())
    return found


@dataclass
class _Chunker:
    tokens: Sequence[Token]
    matches: dict[int, Match]
    at: int = 0

    def run(self) -> list[Chunk]:
        self.tokens = _corrected(self.tokens, self.matches)
        found: list[Chunk] = []
        while self.at < len(self.tokens):
            found.append(self._next(found[-1] if found else None))
        return found

    def _next(self, before: Chunk | None) -> Chunk:
        token = self.tokens[self.at]
        match = self.matches.get(token.start)
        if match is not None and self._is_relation(match, before):
            return self._relation(match)
        thing = self._thing()
        if thing is not None:
            return thing
        if token.tag[0] == "V" or token.tag == "XX0" and self._tag(1)[:1] == "V":
            return self._verb()
        self.at += 1
        return Chunk(_kind(token), (token,))

    def _tag(self, ahead: int) -> str:
        place = self.at + ahead
        return self.tokens[place].tag if 0 <= place < len(self.tokens) else ""

    def _is_relation(self, match: Match, before: Chunk | None) -> bool:
        if match.phrase == "with" or match.relation == "between":
            return match.relation == "between"
        first = self.tokens[self.at]
        # "The past is …", "an inside joke", "the opposite": nouns and adjectives that are spelt like a relation.
        single = " " not in match.phrase
        after_article = self.at > 0 and self.tokens[self.at - 1].tag in ("AT0", "DPS", "AJ0")
        return not (single and after_article and first.tag not in ("PRP",) and self._tag(1) in NOUNS | {"PRF"})

    def _relation(self, match: Match) -> Chunk:
        start = self.at
        while self.at < len(self.tokens) and self.tokens[self.at].start < match.end:
            self.at += 1
        return Chunk("relation", tuple(self.tokens[start : self.at]), match.relation, match.phrase)

    def _blocked(self, place: int) -> bool:
        """Whether a relation phrase begins here, which ends every name before it."""
        match = self.matches.get(self.tokens[place].start)
        return match is not None and self.tokens[place].tag not in NOUNS | ADJECTIVES or (
            match is not None and " " in match.phrase
        )

    def _thing(self) -> Chunk | None:
        """A name: determiners, adjectives, nouns, and what follows an "of"."""
        token = self.tokens[self.at]
        if token.tag in ("PNP", "PNI", "PNX"):
            self.at += 1
            marks = {"pronoun"} | ({"no"} if token.low in ("nothing", "nobody", "none") else set())
            return Chunk("thing", (token,), token.text, head=token, plural=token.low in ("they", "them"), marks=frozenset(marks))
        read = self._simple(self.at)
        if read is None:
            return None
        start, (self.at, first, head, marks) = self.at, read
        end, named, plural = self.at, first, self._plural(first, head, start)
        while (
            self.at + 1 < len(self.tokens)
            and self.tokens[self.at].tag == "PRF"
            and (more := self._simple(self.at + 1)) is not None
        ):
            after, inner, inner_head, inner_marks = more
            if self.tokens[head].low in words()["places.pictures"]:
                # "a photo of a cat": the cat is the thing.
                start, named, head, marks = self.at + 1, inner, inner_head, inner_marks
                plural = self._plural(named, head, start)
            elif self.tokens[head].low in ("group", "couple", "pair", "number", "lot", "bunch", "herd", "flock", "row"):
                plural = plural or (self.tokens[head].low in ("number", "couple", "lot"))
            self.at = end = after
        said = self.tokens[named:end]
        name = _joined(said)
        return Chunk("thing", tuple(self.tokens[start:end]), name, head=self.tokens[head], plural=plural, marks=marks)

    def _plural(self, first: int, head: int, start: int) -> bool:
        numbers = {t.low for t in self.tokens[start : head + 1] if t.tag in ("CRD", "DT0")}
        return self.tokens[head].tag == "NN2" or bool(numbers & {"two", "three", "four", "five", "six", "several", "many", "few", "both", "2", "3", "4", "5"}) or self.tokens[head].low == "people"

    def _simple(self, at: int) -> tuple[int, int, int, frozenset[str]] | None:
        """Where a name without "of" ends, where it begins without its article, its noun, and its marks."""
        tokens, start, marks = self.tokens, at, set[str]()
        while at < len(tokens) and (tokens[at].tag in ("AT0", "DPS", "DT0", "DTQ_") or tokens[at].low in ("no", "both", "another", "any", "some", "all")):
            if tokens[at].low in ("no", "any"):
                marks.add(tokens[at].low)
            if tokens[at].tag == "DPS":
                marks.add("own")
            if tokens[at].low in ("the", "this", "that", "these", "those"):
                marks.add("definite")
            if tokens[at].low == "of":
                break
            at += 1
        determined = at > start
        kept = at
        while kept > start and tokens[kept - 1].low in ("several", "many", "few", "another", "more", "most", "every", "each", "such", "other", "multiple", "various"):
            kept -= 1
        head: int | None = None
        while at < len(tokens):
            tag, low = tokens[at].tag, tokens[at].low
            following = tokens[at + 1].tag if at + 1 < len(tokens) else ""
            if self._blocked(at) and not (tag in NOUNS and head is None and determined and low not in ("left", "right")):
                break
            if tag in NOUNS:
                if tag == "NP0" or tokens[at].tag != "ZZ0" or head is not None or determined:
                    head = at
            elif tag in ADJECTIVES:
                if head is not None and not (following in NOUNS and tokens[at - 1].tag == "POS"):
                    break
            elif tag == "POS" and head is not None:
                pass
            elif tag in PARTICIPLES and head is None and (determined or at > kept) and following in NOUNS | ADJECTIVES | PARTICIPLES:
                pass
            elif tag == "VVG" and head is None and determined:
                head = at  # "the railing", "a clearing"
            elif tag == "VVG" and head is not None and following not in ("AT0", "DPS", "PRP", "PNP", "AVP", "DT0", "TO0", "NN2", "AV0", "CRD", "AJ0", "NN1") and self._ends(at):
                break
            elif tag == "AV0" and head is None and determined and following in ADJECTIVES | PARTICIPLES:
                pass
            elif tag == "CJC" and head is None and at > kept and following in ADJECTIVES and tokens[at - 1].tag in ADJECTIVES:
                pass  # "a black and white photo"
            elif low in ("&",):
                pass
            else:
                break
            at += 1
        if head is None:
            if determined and kept < at and tokens[at - 1].tag in ADJECTIVES and tokens[at - 1].low not in ("one",):
                head = at - 1  # "the red": an adjective for a noun
            else:
                return None
        end = at
        while end > head + 1:
            end -= 1
        if tokens[head].tag == "POS":
            return None
        if not determined:
            marks.add("bare")
        return end, min(kept, head), head, frozenset(marks)

    def _ends(self, at: int) -> bool:
        return at + 1 >= len(self.tokens)

    def _verb(self) -> Chunk:
        start, marks, head = self.at, set[str](), self.at
        modes = words()
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if self.at > start and self.matches.get(token.start) is not None and token.tag != "VVN" and token.tag[0] != "V":
                break
            if self.at > start and self.matches.get(token.start) is not None and token.tag[0] == "V":
                break
            if token.tag[0] == "V":
                if self.at > start and token.tag == "VVG" and self.tokens[head].tag == "VVG":
                    break
                head = self.at
            elif token.low in modes["modes.negations"] and token.low != "no":
                marks.add("not")
            elif token.tag == "TO0" and self._tag(1)[:1] == "V":
                pass
            elif token.tag in ("AV0", "AVP") and (self._tag(1)[:1] == "V" or self._tag(1) == "XX0"):
                pass
            elif token.tag == "AVP" and self.tokens[head].tag[:2] == "VV" and self._tag(1) not in NOUNS:
                pass
            else:
                break
            if token.low in modes["modes.hedges"]:
                marks.add("hedged")
            if token.low in modes["modes.unreal"]:
                marks.add("unreal")
            self.at += 1
        group = tuple(self.tokens[start : self.at])
        if FINITE.match(group[0].tag) and group[0].tag not in ("VVN", "VVG"):
            marks.add("finite")
        main = self.tokens[head]
        if main.tag[:2] == "VB":
            marks.add("be")
        if main.tag in PARTICIPLES and "finite" not in marks or main.tag == "VVD" and len(group) == 1:
            marks.add("participle")
        return Chunk("verb", group, head=main, marks=frozenset(marks))


def _kind(token: Token) -> Kind:
    match token.low:
        case "with":
            return "with"
        case "," | "(" | ")":
            return "comma"
        case ";" | ":" | "." | "!" | "–" | "—" | "-" | "/":
            return "stop"
        case "and" | "or" | "&":
            return "and"
        case "but" | "while" | "whereas" | "although" | "though":
            return "but"
        case "that" | "which" | "who" | "whose" | "where" | "whom":
            return "which"
        case "not" | "n't" | "never" | "neither" | "nor" | "without":
            return "not"
        case "there" if token.tag == "EX0":
            return "there"
        case _:
            return "prep" if token.tag in ("PRP", "PRF", "TO0") else "other"


def _joined(tokens: Sequence[Token]) -> str:
    """The words as said, with one space wherever there was some."""
    out = ""
    for before, token in zip([None, *tokens], tokens, strict=False):
        out += (" " if before is not None and token.start > before.end else "") + token.text
    return out


_VERBS_IN_S = re.compile(r"[a-z]{2,}s$")


def _corrected(tokens: Sequence[Token], matches: dict[int, Match]) -> list[Token]:
    """Tags put right where a caption's grammar is plainer than the tagger's: "A man talks on …" has a verb."""
    fixed = list(tokens)
    for i, token in enumerate(fixed):
        after = fixed[i + 1].tag if i + 1 < len(fixed) else ""
        before = fixed[i - 1] if i else None
        singular = before is not None and before.tag in ("NN1", "UNC", "NP0") and _article(fixed, i - 1) in ("a", "an", "one")
        if token.tag == "NN2" and singular and _VERBS_IN_S.match(token.low) and (after in ("PRP", "AVP", "AT0", "DPS", "AV0", "TO0", "PNP") or i + 1 < len(fixed) and fixed[i + 1].start in matches):
            fixed[i] = _retag(token, "VVZ")
        elif token.tag == "NN2" and before is not None and before.low in ("who", "that", "which"):
            fixed[i] = _retag(token, "VVZ")
        elif token.low in ("cannot",):
            fixed[i] = _retag(token, "VM0")
        elif token.low in ("that",) and before is not None and before.tag in NOUNS and (after[:1] == "V"):
            fixed[i] = _retag(token, "CJT")
        elif token.low == "'s" and token.tag == "POS" and before is not None and before.low in ("that", "it", "he", "she", "there", "who"):
            fixed[i] = _retag(token, "VBZ")
    return fixed


def _article(tokens: Sequence[Token], at: int) -> str:
    while at >= 0 and tokens[at].tag in NOUNS | ADJECTIVES:
        at -= 1
    return tokens[at].low if at >= 0 else ""


def _retag(token: Token, tag: str) -> Token:
    lemma = token.lemma
    if tag == "VVZ":
        lemma = re.sub(r"(?<=[^aeiou])ies$", "y", token.low) if token.low.endswith("ies") else re.sub(r"(?<=(?:ch|sh|ss|.x))es$|s$", "", token.low)
    return Token(token.text, lemma, tag, token.start, token.end)
