"""Answers in words: what was said beside the thinking, inside JSON, and the yes or no that it begins with."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any, cast

from recap.claims.parser import APOSTROPHES

HEAD = 200
"""characters of an answer in which a yes or no is looked for"""
SENTENCE_STARTS = re.compile(
    r"a|an|as|based|because|both|he|i|in|it|it's|its|on|she|since|that|the|there|these|they|this|those", re.IGNORECASE
)
"""words that may follow a bare yes or no: "no the mug is …" answers, "no idea", "no mug is …" and "yes or no" do not"""
_LEAD = re.compile(
    r"\A[\s*_#>-]*(?:(?:so|thus|hence|therefore),?\s+)?(?:(?:the|my)\s+)?(?:(?:final|short|correct)\s+)?answer\s*(?:is\s*[:：]?|[:：])\s*",
    re.IGNORECASE,
)
"""what may stand before a yes or no: "Answer: no", "The answer is no." """
_TAG = re.compile(r"[<◁](/?)(?:seed:)?(?:think|thinking|thought|reasoning)[>▷]|\[(/?)THINK\]", re.IGNORECASE)
"""where a thought begins or ends"""
_CONCLUDED = re.compile(r"(?:final answer|answer)(?: is)? ?[:：]? ?[*_\"“]*(yes|no)\b", re.IGNORECASE)
"""in a text whose words stand one space apart: a thought leaves thousands of them"""
_TRUTH = {"yes": "yes", "true": "yes", "1": "yes", "no": "no", "false": "no", "0": "no"}
_ANSWER = re.compile(
    r"(?:(?:final|short|yes[ _-]?no|your|my|the)[ _-]?)?(?:answer|response|reply|verdict)", re.IGNORECASE
)
"""names of fields that hold the answer"""
_ELSEWHERE = re.compile(
    r"err|errors?|fail(?:ed|ure)?|truncated|cutoff|incomplete|completed?|finish(?:ed)?|done|ok|okay|success|successful"
    r"|succeeded|status|(?:un)?safe|safety|flag|flagged|blocked|filtered|moderated|moderation|refused|refusal|toxic|nsfw"
    r"|harmful|sensitive|cached?|stream(?:ing)?|debug|retry|retried|warnings?|(?:in)?valid|ready|enabled|disabled|confident"
    r"|(?:un)?certain|(?:un)?sure|confidence|ambiguous|unclear|processed|received|loaded|parsed|usable|(?:un)?supported"
    r"|timeout|expired|authenticated|authorized|required",
    re.IGNORECASE,
)
"""words of field names that speak of the reply or of its making, and not of the picture"""
_NAME_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_FENCE = re.compile(r"^```(?:json)?|```$", re.MULTILINE)


def truth_word(value: Any) -> str | None:
    """yes or no, as people write labels: yes and no, true and false, 1 and 0, in any case and quoted; None elsewhere.

    >>> [truth_word(each) for each in ("Yes.", " TRUE", 0, 1.0, "'no'", "maybe", 2)]
    ['yes', 'yes', 'no', 'yes', 'no', None, None]
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return {1.0: "yes", 0.0: "no"}.get(value)
    return _TRUTH.get(value.strip().strip("[]'\".! ").lower()) if isinstance(value, str) else None


def said(text: str) -> str | None:
    """The answer itself: thoughts become spaces, so that places stay. None if a thought has no end.

    What stands before an end without a beginning is a thought too: many prompts open one for the model.

    >>> said("<think>no?</think>Yes."), said("Or not?</think>Yes."), said("<think>Or")
    ('                  Yes.', '               Yes.', None)
    """
    thoughts: list[tuple[int, int]] = []
    opened: int | None = None
    for tag in _TAG.finditer(text):
        if not (tag[1] or tag[2]):
            opened = tag.start() if opened is None else opened
            continue
        if opened is None:
            thoughts.clear()
        thoughts.append((opened or 0, tag.end()))
        opened = None
    if opened is not None:
        return None
    shown: list[str] = []
    end = 0
    for start, after in thoughts:
        shown += [text[end:start], " " * (after - start)]
        end = after
    return "".join(shown) + text[end:]


def spoken(text: str) -> str:
    """The words of an answer that is a JSON document: the value that answers, else all its strings.

    A field that is called an answer goes before all others. Without one, true or false answers only if nothing else is
    there: beside other fields it may be about anything. Where one value says yes and another no, neither counts. Nor
    does one whose field speaks of the reply itself.

    >>> spoken('{"safe": true, "answer": "no"}'), spoken('{"left": true}'), spoken('{"text": "A mug.", "cut": false}')
    ('no', 'yes', 'A mug.')
    >>> spoken('{"error": false}'), spoken('{"isTruncated": "no", "text": "A mug."}')
    ('', 'A mug.')
    """
    bare = _FENCE.sub("", text).strip()
    if not bare.startswith(("{", "[")):
        return text
    try:
        document = json.loads(bare)
        named = _named(document)
        values = (
            _leaves(named) if named else [each for name, each in _fields(document) if not _is_elsewhere(name, each)]
        )
        alone = bool(named) or len(_leaves(document)) == 1
    except (ValueError, RecursionError):
        return text
    if alone:
        values = [truth_word(each) if isinstance(each, bool) else each for each in values]
    strings = [each for each in values if isinstance(each, str)]
    short = [each.strip().lower().rstrip(".!") for each in strings]
    plain = {each for each in short if each in ("yes", "no")}
    if len(plain) > 1:
        return " ".join(each for each, word in zip(strings, short, strict=True) if word not in plain)
    return plain.pop() if plain else " ".join(strings)


def _named(document: Any) -> list[Any]:
    """The values of the fields that are called an answer, the outermost ones."""
    match document:
        case dict():
            fields = cast(dict[str, Any], document)
            here = [value for name, value in fields.items() if _ANSWER.fullmatch(name.strip())]
            return here or [found for value in fields.values() for found in _named(value)]
        case list():
            return [found for value in cast(list[Any], document) for found in _named(value)]
        case _:
            return []


def _fields(document: Any, name: str = "") -> list[tuple[str, Any]]:
    """Every value that holds no other, with the name of the field it stands in."""
    match document:
        case dict():
            fields = cast(dict[str, Any], document)
            return [found for inner, value in fields.items() for found in _fields(value, inner)]
        case list():
            return [found for value in cast(list[Any], document) for found in _fields(value, name)]
        case _:
            return [(name, document)]


def _leaves(document: Any) -> list[Any]:
    return [value for _, value in _fields(document)]


def _is_elsewhere(name: str, value: Any) -> bool:
    """Whether a yes or no speaks of something else than the picture, by its field's name: "error", "isTruncated"."""
    return truth_word(value) is not None and any(map(_ELSEWHERE.fullmatch, _NAME_WORDS.findall(name)))


def yes_or_no(text: str) -> str | None:
    """The answer that a text begins with; None where it begins otherwise.

    >>> yes_or_no("**Yes**, the mug is left of the laptop."), yes_or_no("NO."), yes_or_no("No idea.")
    ('yes', 'no', None)
    """
    plain = re.sub(r"[*_`\"“”]", "", unicodedata.normalize("NFKC", text[:HEAD])).translate(APOSTROPHES)
    match = re.match(r"\W*(yes|no)(?![\w'/-])(.*)", plain, re.IGNORECASE | re.DOTALL)
    if match is None:
        return None
    answer, rest = match[1].lower(), match[2]
    if re.fullmatch(r"\W*(?:yes|no)\W*", rest, re.IGNORECASE) and answer not in rest.lower():
        return None  # "Yes. No." answers nothing
    bare = re.match(r"[^\S\n]+([\w'/-]*\w[\w'/-]*)", rest)
    return answer if bare is None or SENTENCE_STARTS.fullmatch(bare[1]) else None


def announced(text: str) -> str | None:
    """The answer that a text announces at its beginning, if it names no other one further on.

    >>> announced("Answer: No"), announced("The answer is no."), announced("The answer is no longer in sight.")
    ('no', 'no', None)
    """
    lead = _LEAD.match(text)
    found = None if lead is None else yes_or_no(text[lead.end() :])
    return found if {each.lower() for each in _CONCLUDED.findall(" ".join(text.split()))} <= {found} else None


def concluded(text: str) -> str | None:
    """The answer behind any thought: what the rest begins with, or the one answer that it names as such.

    >>> concluded("<think>Is it no? The mug is right.</think> Yes."), concluded("It is on top. Final answer: no")
    ('yes', 'no')
    >>> concluded("<think>I wonder whether yes") is None
    True
    """
    rest = said(text)
    if rest is None:  # cut off inside a thought: nothing was answered
        return None
    named = {each.lower() for each in _CONCLUDED.findall(" ".join(rest.split()))}
    return yes_or_no(rest.strip()) or (named.pop() if len(named) == 1 else None)
