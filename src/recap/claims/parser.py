"""From a question or statement to the relation it asserts. What is not understood is refused, never guessed."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace

from recap.claims.lexicon import Lexicon, Match, default_lexicon
from recap.claims.naming import SINGULAR, Naming, lowered, naming_of
from recap.errors import RecapError, quoted

APOSTROPHES = dict.fromkeys(map(ord, "\u2019\u02bc\u2018\u02b9\u00b4\u055a\ua78c\uff07\u2032"), "'")
"""what keyboards and correction put in place of the one in "isn't\""""
LONGEST = 400
"""characters: a question about two objects is far shorter, and prompts of pages hold more than one"""


class NoRelationError(RecapError):
    """The text does not assert exactly one known relation between two named things."""

    def __init__(self, text: str, why: str) -> None:
        super().__init__(f"no spatial relation found in {quoted(text)}: {why}")
        self.why = why


@dataclass(frozen=True)
class Statement:
    """`subject relation object`, as somebody said it: nothing canonicalised yet."""

    subject: str
    relation: str
    object: str
    family: str
    phrase: str
    is_question: bool
    naming: tuple[Naming, Naming] = (SINGULAR, SINGULAR)
    """how subject and object are said; a benchmark's statements keep the fixed templates of the paper"""


def parse(text: str, lexicon: Lexicon | None = None, *, phrase: str | None = None) -> Statement:
    """The one spatial relation that a question or statement is about.

    `phrase` says which words are the relation, where a dataset's own field tells; then no other is looked for.

    >>> s = parse("Is the mug to the left of the laptop?")
    >>> (s.subject, s.relation, s.object)
    ('mug', 'left_of', 'laptop')
    """
    return _Parser(lexicon or default_lexicon(), text, phrase).statement()


_SHOWN = r"(?: in (?:the|this) (?:image|picture|photo|photograph|scene))?"
EXISTENCE = re.compile(
    rf"(?:is|are) there (?:an? |any |some )?(?P<asked>[\w' -]+?){_SHOWN}\?"
    rf"|there (?:is|are) (?:an? |some )?(?P<stated>[\w' -]+?){_SHOWN}\.?",
    re.IGNORECASE,
)


def parse_existence(text: str, lexicon: Lexicon) -> Statement | None:
    """What a text like "Is there a basket in the picture?" asks; None if it says more, or something else.

    >>> parse_existence("Is there a basket in the picture?", default_lexicon()).subject
    'basket'
    """
    found = EXISTENCE.fullmatch(" ".join(text.split()))
    name = (found["asked"] or found["stated"]) if found else ""
    if not name or lexicon.find(name) or name.lower().split()[0] in ("no", "not"):
        return None
    statement = Statement(name, "exists", "", "other", "exists", found is not None and found["asked"] is not None)
    return replace(statement, naming=(naming_of(name, text), SINGULAR))


def as_said(statement: Statement, text: str) -> Statement:
    """The statement with the grammar of its two names, as the text it was read in has it.

    >>> as_said(parse("Two cats are on the sofa."), "Two cats are on the sofa.").subject
    'two cats'
    """
    names = [lowered(name, text) for name in (statement.subject, statement.object)]
    naming = [naming_of(name, text) for name in names]
    if re.match(rf"\W*(?:are|were|do)\s+(?:there\s+)?(?:\w+\s+)?{re.escape(names[0])}\b", text, re.IGNORECASE):
        naming[0] = replace(naming[0], plural=True)
    return replace(statement, subject=names[0], object=names[1], naming=(naming[0], naming[1]))


@dataclass(frozen=True)
class _Parser:
    lexicon: Lexicon
    text: str
    phrase: str | None

    def refuse(self, why: str) -> NoRelationError:
        return NoRelationError(self.text, why)

    def statement(self) -> Statement:
        body, is_question = self._body()
        if self.phrase is None:
            body = self._without_asides(body)
        match = self._one_match(body)
        self._relates_two(body, match)
        subject = self._noun_phrase(self._strip_tail(body[: match.start]), "before", match)
        obj = self._noun_phrase(body[match.end :], "after", match)
        self._not_an_idiom(subject, body, match)
        self._not_a_region(subject, match.relation, obj)
        family = self.lexicon.families.get(match.relation, "other")
        return Statement(subject, match.relation, obj, family, match.phrase, is_question)

    def _body(self) -> tuple[str, bool]:
        """The sentence without its frames and its opening verb, and whether it asked."""
        if len(self.text) > LONGEST:
            raise self.refuse("it is too long to be one question")
        text = unicodedata.normalize("NFKC", self.text.translate(APOSTROPHES)).translate(APOSTROPHES)
        body = " ".join(re.sub(r"[\"“”„«»‘`*]", " ", text).split()).strip(" '")
        previous = None
        while body != previous:
            previous = body
            body = self.lexicon.frames_after.sub("", self.lexicon.frames_before.sub("", body))
        without = self.lexicon.frames_asking.sub("", body)
        asked = body.endswith("?") or without != body
        body = without.rstrip(" ?.!,;:'")
        if not body:
            raise self.refuse("there is nothing to read")
        if re.search(r"[?.!;]\s", body):
            raise self.refuse("it holds more than one sentence")
        if "n't" in body.lower() or self._words(body) & self.lexicon.refuse["negations"]:
            raise self.refuse("it is negated; ask the positive question")
        body = re.sub(r"^there's\s+", "there is ", body, flags=re.IGNORECASE)
        first, _, rest = body.partition(" ")
        opener = first.lower()
        if opener in self.lexicon.refuse["openers"]:
            raise self.refuse(f'with "{first}" at its head it does not ask or state one relation')
        if opener in ("is", "are", "was", "were"):
            return re.sub(r"^there\s+", "", rest, flags=re.IGNORECASE), True
        if opener in ("does", "do", "did"):
            return rest, True
        return re.sub(r"^there\s+(?:is|are|was|were)\s+", "", body, flags=re.IGNORECASE), asked

    def _without_asides(self, body: str) -> str:
        """Without ", which is red," and ", a tabby,": they name the same thing again. In a list it would be another."""
        aside = r"(?:which|who) (?:is|are|was|were) [^,]+"
        found = re.search(
            rf"^[^,]+(,\s*(?:{aside}|an? [^,]+),)\s+(?!and\b|or\b)[^,]+|(,\s*{aside})$", body, re.IGNORECASE
        )
        if found is None:
            return body
        start, end = found.span(1 if found[1] else 2)
        return body if self.lexicon.find(body[start:end]) else " ".join((body[:start] + body[end:]).split())

    def _relates_two(self, body: str, match: Match) -> None:
        relating_three = self.phrase is None and match.relation in self.lexicon.refuse["relating_three"]
        if relating_three and "and" in self._words(body[match.end :]):
            raise self.refuse(
                f'"{match.phrase}" relates three things; ask about two at a time, as in "Is the … left of the …?"'
            )

    def _one_match(self, body: str) -> Match:
        matches = self.lexicon.find(body, self.phrase)
        if not matches:
            asks = EXISTENCE.fullmatch(" ".join(self.text.split()))
            if asks:
                raise self.refuse('it is about what is there, not where; audit it as a text: "There is a …"')
            raise self.refuse("it holds no relation phrase")
        if len(matches) > 1:
            named = " and ".join(f'"{m.phrase}"' for m in matches)
            raise self.refuse(f"it holds several ({named}); ask about one at a time")
        return matches[0]

    def _strip_tail(self, before: str) -> str:
        """Copulas, position verbs and plain adverbs say nothing more about the relation than its phrase does."""
        strip = self.lexicon.strip
        tail = strip["copulas"] | strip["positions"] | strip["adverbs"]
        words = before.split()
        while words and words[-1].lower().strip(",") in tail:
            words.pop()
        return " ".join(words)

    def _noun_phrase(self, part: str, side: str, match: Match) -> str:
        """The words of one object without its determiner, if they can be that and nothing more."""
        words = part.split()
        while words and words[0].lower() in self.lexicon.strip["determiners"]:
            words.pop(0)
        if not words:
            raise self.refuse(f'no object is named {side} "{match.phrase}"')
        name = " ".join(words)
        if not re.fullmatch(r"[\w][\w '&./-]*", name):
            raise self.refuse(
                f'what stands {side} "{match.phrase}" is more than a name; name one thing, without commas and asides'
            )
        lowered = [word.lower() for word in words]
        refused = frozenset[str]().union(
            *(self.lexicon.refuse[kind] for kind in ("not_nouns", "quantifiers", "hedges"))
        )
        for word, low in zip(words, lowered, strict=True):
            if low in refused or low in self.lexicon.strip["determiners"] - {"her"}:
                raise self.refuse(f'"{word}" leaves open what is meant {side} "{match.phrase}"')
        head = lowered[-1]
        if head in self.lexicon.refuse["not_heads"] or head.endswith("'s") or lowered[0] == "and" or head == "and":
            raise self.refuse(f'"{words[-1]}" {side} "{match.phrase}" does not name a thing')
        if re.search(r"(?:ing|ed)$", head) and len(head) > 3 and head not in self.lexicon.refuse["nouns_like_verbs"]:
            raise self.refuse(f'"{words[-1]}" {side} "{match.phrase}" says what it does, not what it is')
        return name

    def _not_an_idiom(self, subject: str, body: str, match: Match) -> None:
        """ "Is the man on the phone?" does not ask where the man is."""
        if self.phrase is not None:
            return
        end, idioms = body[match.start :].lower(), self.lexicon.idioms
        person = subject.lower().split()[-1] in idioms["persons"]
        if end in idioms["anything"] or (person and end in idioms["people"]):
            raise self.refuse(
                f'"{end}" is an idiom and says nothing about where things are; describe the object if it does'
            )
        if end.split()[-1] in self.lexicon.refuse["states"]:
            raise self.refuse(f'"{end}" says how something is, not where it is')

    def _not_a_region(self, subject: str, relation: str, obj: str) -> None:
        """A place in the picture ("the left", "the left side of the picture") is no second object."""
        scenes = self.lexicon.refuse["scenes"]
        last = obj.lower().split()[-1]
        region = last in self.lexicon.refuse["not_objects"]
        region |= last in scenes and relation in ("inside", "on", "left_of", "right_of")
        if region or (relation == "contains" and subject.lower() in scenes):
            raise self.refuse("it asks about a place in the picture, not about a second object")

    @staticmethod
    def _words(body: str) -> set[str]:
        return set(re.findall(r"[\w'-]+", body.lower()))
