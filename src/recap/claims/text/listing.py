"""Claims that a model lists itself: what it is asked, how its reply is read, and what of it is believed.

The reply is a stranger's text. A claim counts only if our lexicon knows its relation and its two things stand in the
text that it is said to be in; anything else is told as not understood, and nothing of the reply is shown as certain.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from recap.claims.graph import Graph
from recap.claims.lexicon import Lexicon
from recap.claims.naming import ARTICLES, SINGULAR, lowered, naming_of
from recap.claims.text.dressing import plain
from recap.claims.text.extract import extract
from recap.claims.text.model import EXISTS, Extraction, TextClaim, Unsure
from recap.claims.text.tokens import sentences
from recap.claims.text.words import text_lexicon, words
from recap.errors import RecapError, RecapWarning, one_of, quoted

CLAIM_SOURCES = ("rules", "model", "both")
"""who finds the claims of a text"""
MOST = 64
"""claims that are read of one reply"""
LONGEST_REPLY = 40_000
"""characters: a server may send anything, and broken JSON takes the longer to read the more there is of it"""
NOT_ASKED = "the model could not be asked to list the text's claims"
_THOUGHT = re.compile(r"</(?:think|thinking|thought|reasoning)>|\[/THINK\]", re.IGNORECASE)
"""the end of what a model thinks before it answers"""
PROMPT = """\
List every statement that the text at the end makes about where one thing is in relation to another thing. Write one \
JSON object per line, like this:
{{"subject": "cat", "relation": "on", "object": "sofa", "negated": false, "quote": "the cat is on the sofa"}}
subject and object: nouns from the text without their article; for a pronoun, the noun that it stands for. relation: \
one of {relations}; if none fits, the preposition that the text uses. negated: true if the text denies it. \
quote: the words of the text that say it, copied exactly. Leave out questions and commands. Write nothing else, and \
nothing at all if there is no such statement.

Text:
{text}"""


class _Listed(BaseModel):
    """One line of a reply."""

    model_config = ConfigDict(extra="ignore", strict=True, str_strip_whitespace=True)

    subject: str = Field(min_length=1, max_length=200)
    relation: str = Field(min_length=1, max_length=100)
    object: str = Field(min_length=1, max_length=200)
    negated: bool = False
    quote: str | None = None


def listed_claims(
    text: str, graph: Graph, write: Callable[[str], str], *, source: str = "both", exists: bool = False
) -> Extraction:
    """The claims that a model lists, by themselves or with those of the rules; `write` is what answers a prompt.

    With the rules beside it, a model that cannot be asked is told under `unsure`; alone, that is an error.
    """
    one_of(source, CLAIM_SOURCES, "a way to find claims")
    found = extract(text, graph, exists=exists)
    if source == "rules" or not text.strip():
        return found
    try:
        reply = write(listing_prompt(text, graph))
    except RecapError as error:
        if source == "model":
            raise
        warnings.warn(f"{NOT_ASKED}: {error}", RecapWarning, stacklevel=2)
        return replace(found, unsure=(*found.unsure, Unsure(0, len(text), NOT_ASKED)))
    listed = read_listing(reply, text, graph)
    rules = found if source == "both" else Extraction(text, (), ())
    return _merged(rules, listed, graph, exists=exists)


def listing_prompt(text: str, graph: Graph) -> str:
    """What the model is asked; where thoughts were, and lines ended, is one space."""
    names = [*graph.relations, *sorted(words().claimed)]
    return PROMPT.format(relations=", ".join(name.replace("_", " ") for name in names), text=" ".join(text.split()))


def read_listing(reply: str, text: str, graph: Graph) -> Extraction:
    """The claims of a reply that stand in the text; what cannot be read or found there is unsure."""
    lexicon, whole = text_lexicon(graph.lexicon), _Whole.of(text)
    claims: list[TextClaim] = []
    unsure: list[Unsure] = []
    reply = _THOUGHT.split(reply)[-1][:LONGEST_REPLY]
    pieces = list(_objects(reply))
    for piece in pieces[:MOST]:
        made = f"the model's list has {quoted(piece)}, which cannot be read" if isinstance(piece, str) else None
        made = made or _claim(cast(dict[str, Any], piece), text, whole, lexicon)
        if isinstance(made, TextClaim):
            claims.append(made)
        else:
            unsure.append(Unsure(0, len(text), made))
    if len(pieces) > MOST:
        unsure.append(Unsure(0, len(text), f"the model lists {len(pieces)} claims; the first {MOST} are read"))
    if not pieces and not re.fullmatch(r"[\s\[\]`]*(?:json)?[\s\[\]`]*(?:none|nothing)?[\s.`]*", reply, re.IGNORECASE):
        unsure.append(Unsure(0, len(text), f"the model's list of claims cannot be read: {quoted(reply)}"))
    return Extraction(text, tuple(dict.fromkeys(claims)), tuple(dict.fromkeys(unsure)))


@dataclass(frozen=True)
class _Whole:
    """A text to find things in."""

    body: str
    spans: tuple[tuple[int, int, bool], ...]
    """of its sentences, and whether each asks"""

    @classmethod
    def of(cls, text: str) -> _Whole:
        return cls(plain(text), tuple((each.start, each.end, each.asks) for each in sentences(text)))

    def named(self, name: str) -> list[tuple[int, int]]:
        """Where a name stands: as it is said, or else by its last word."""
        for said in (name, name.split()[-1]):
            pattern = r"\s+".join(map(re.escape, said.split()))
            found = [each.span() for each in re.finditer(rf"(?<!\w){pattern}(?!\w)", self.body, re.IGNORECASE)]
            if found:
                return found
        return []

    def place(self, listed: _Listed, names: tuple[str, str]) -> tuple[int, int] | str:
        """Where a claim stands, or why that cannot be said."""
        subjects, objects = map(self.named, names)
        for name, found in zip(names, (subjects, objects), strict=True):
            if not found:
                return f"{quoted(name)} is not in the text"
        together = [
            (min(a[0], b[0]), max(a[1], b[1]))
            for a in subjects
            for b in objects
            if a != b and any(start <= min(a[0], b[0]) and max(a[1], b[1]) <= end for start, end, _ in self.spans)
        ]
        place = self._quoted(listed.quote or "") or min(together, key=lambda s: s[1] - s[0], default=None)
        if place is None:
            return "its two things do not stand in one sentence, and its words are not those of the text"
        if any(asks and start <= place[0] < end for start, end, asks in self.spans):
            return "it stands in a question"
        return place

    def _quoted(self, quote: str) -> tuple[int, int] | None:
        pattern = r"\s+".join(map(re.escape, plain(quote).strip(" .,;").split()))
        found = re.search(pattern, self.body, re.IGNORECASE) if pattern else None
        return found.span() if found else None


def _claim(piece: dict[str, Any], text: str, whole: _Whole, lexicon: Lexicon) -> TextClaim | str:
    """What a line of the list claims, or why it claims nothing."""
    try:
        listed = _Listed.model_validate(piece)
    except ValidationError:
        return f"the model's list has {quoted(json.dumps(piece))}, which is no claim"
    told = f"the model lists {quoted(f'{listed.subject} {listed.relation} {listed.object}')}"
    phrase = re.sub(r"^(?:is|are|was|were)\s+", "", listed.relation.lower().replace("_", " "))
    relation = lexicon.relation_of(phrase)
    if relation is None:
        return f"{told}, and {quoted(listed.relation)} is no relation that is known"
    subject, obj = (lowered(_bare(name), text) for name in (listed.subject, listed.object))
    if not subject or not obj or subject.lower() == obj.lower():
        return f"{told}, which is no claim about two things"
    place = whole.place(listed, (subject, obj))
    if isinstance(place, str):
        return f"{told}, but {place}"
    naming = naming_of(subject, text), naming_of(obj, text)
    answer = "no" if listed.negated else "yes"
    return TextClaim("relation", subject, relation, obj, answer, *place, phrase, False, naming)


def _bare(name: str) -> str:
    return re.sub(rf"^{ARTICLES}\s+", "", " ".join(name.split()), flags=re.IGNORECASE)


def _objects(reply: str) -> Iterator[dict[str, Any] | str]:
    """The JSON objects of a reply, whatever stands around them; the beginning of one that is broken, as text."""
    decoder, place = json.JSONDecoder(), 0
    while (start := reply.find("{", place)) >= 0:
        try:
            value, place = decoder.raw_decode(reply, start)
        except (ValueError, RecursionError):
            place = reply.find("{", start + 1)
            place = len(reply) if place < 0 else place
            if re.search(r"subject|relation", reply[start:place]):  # and not a list's own bracket
                yield reply[start:place]
            continue
        yield from _inner(value)


def _inner(value: object) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        held = cast(dict[str, Any], value)
        lists = [cast(list[object], each) for each in held.values() if isinstance(each, list)]
        if lists and "subject" not in held:
            yield from (inner for some in lists for each in some for inner in _inner(each))
        else:
            yield held


def _merged(rules: Extraction, listed: Extraction, graph: Graph, *, exists: bool) -> Extraction:
    """Both, each claim once: what the rules read stands as they read it, since they know where and how it is said."""
    claims, unsure = list(rules.claims), [*rules.unsure, *listed.unsure]
    for new in listed.claims:
        twin = next((old for old in claims if old.kind == "relation" and _same(old, new, graph)), None)
        if twin is None:
            claims.append(new)
        elif twin.answer != new.answer and twin in rules.claims:
            said = "denied" if new.answer == "no" else "said"
            unsure.append(Unsure(new.start, new.end, f"the model takes this as {said}, and the rules do not"))
    if exists:
        known = {claim.subject.lower() for claim in claims if claim.kind == "exists"}
        for claim in [each for each in claims if each.kind == "relation"]:
            for name, naming in zip((claim.subject, claim.object or ""), claim.naming, strict=True):
                if name.lower() not in known:
                    known.add(name.lower())
                    place = next(iter(_Whole(plain(rules.text), ()).named(name)), (claim.start, claim.end))
                    claims.append(TextClaim("exists", name, EXISTS, None, "yes", *place, "", naming=(naming, SINGULAR)))
    ordered = sorted(claims, key=lambda c: (c.start, c.end, c.kind))
    return Extraction(rules.text, tuple(ordered), tuple(dict.fromkeys(unsure)))


def _same(old: TextClaim, new: TextClaim, graph: Graph) -> bool:
    """Whether two claims say the same of the same: "the mug is left of the lamp", "the lamp is right of the mug"."""
    one, other = (graph.claim(claim.statement(graph.lexicon.families)) for claim in (old, new))
    forms = [(claim.relation or claim.statement.relation, claim.subject, claim.object) for claim in (one, other)]
    if forms[0][0] != forms[1][0]:
        return False
    names = [(a.lower(), b.lower()) for a, b in zip(forms[0][1:], forms[1][1:], strict=True)]
    overlap = old.start < new.end and new.start < old.end
    return all(a == b or (overlap and a.split()[-1] == b.split()[-1]) for a, b in names)
