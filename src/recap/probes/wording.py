"""Question wording: the fixed template of each relation and the ways of asking it, kept as data in `wording.toml`."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib import resources

from recap.claims import Graph
from recap.claims.naming import SINGULAR, Naming, is_mass, with_article

_PLURALS = {"Is": "Are", "Does": "Do"}
_VOWEL = re.compile(
    r"(?!uni(?![dmn])|eu|ewe|one(?:\b|-)|u[bkst][aeiou])[aeiou]|hour|honest|heir|8|1[18](?!\d)", re.IGNORECASE
)
_SPELT = re.compile(r"[AEFHILMNORSX][A-Z]{0,2}(?:\b|s\b)|X-")
"""beginnings that are spoken with a vowel: an hour, an 18-wheeler; letter by letter: an LED, an SUV, an X-ray"""
_PART = re.compile(
    r"(?:one|most|each|some|several|many|two|three) of (?:the|these|those|his|her|its|their) (.+)", re.IGNORECASE
)
_COUNTED = ("few", "number", "couple", "dozen", "handful", "hundred", "lot", "pair", "group", "bunch")


@cache
def _wording() -> dict[str, dict[str, str]]:
    text = resources.files("recap.probes").joinpath("wording.toml").read_text("utf-8")
    return tomllib.loads(text)


def question(
    subject: str,
    relation: str,
    obj: str,
    graph: Graph | None = None,
    phrase: str | None = None,
    naming: tuple[Naming, Naming] = (SINGULAR, SINGULAR),
) -> str:
    """The yes/no question about one relation over one ordered pair, in the relation's words or in this phrase.

    A phrase that is a verb ("contains") leaves the relation's own question: there is no other way to ask it.

    >>> question("mug", "left_of", "laptop")
    'Is the mug to the left of the laptop?'
    >>> question("mugs", "left_of", "plate", naming=(Naming(plural=True), SINGULAR))
    'Are the mugs to the left of the plate?'
    """
    own = graph.relations[relation].question if graph and relation in graph else None
    template = own or _wording()["questions"].get(relation) or f"Is the {{s}} {relation.replace('_', ' ')} the {{o}}?"
    if phrase is not None and template.startswith("Is "):
        template = f"Is the {{s}} {phrase} the {{o}}?"
    if naming[0].plural:
        template = re.sub(r"^(Is|Does)\b", lambda verb: _PLURALS[verb[1]], template)
    for gap, name, how in (("{s}", subject, naming[0]), ("{o}", obj, naming[1])):
        template = template.replace(f"the {gap}", with_article(name, how)).replace(gap, name)
    return template


EXISTS = "exists"
"""the extension of the graph for texts: no relation between two things, and never in the paper's suites"""


def existence_question(name: str, naming: Naming = SINGULAR) -> str:
    """The yes/no question whether something is in the picture: the extension `exists` of the graph for texts.

    >>> existence_question("apple"), existence_question("two dogs", Naming(plural=True))
    ('Is there an apple in the picture?', 'Are there two dogs in the picture?')
    """
    if naming.proper or naming.unique:
        return f"{'Are' if naming.plural else 'Is'} {with_article(name, naming)} in the picture?"
    if part := _PART.fullmatch(name):
        return f"Are there {part[1]} in the picture?"
    first = name.split()[0].lower()
    if naming.plural:
        return f"Are there {'a ' if first in _COUNTED else ''}{name} in the picture?"
    if first in ("each", "every"):
        name = name.partition(" ")[2] or name
    if first in ("another", "one", "some", "half", "most", "all", "both") or is_mass(name):
        return f"Is there {name} in the picture?"
    article = "an" if _VOWEL.match(name) or _SPELT.match(name) else "a"
    return f"Is there {article} {name} in the picture?"


def ways(kind: str) -> dict[str, str]:
    """Named ways of asking a question: the `paraphrases` of Prompt-SC, the `wrappers`, the `constrained` prompts."""
    return dict(_wording()[kind])


def asked_by(way: str, asked: str, subject: str, obj: str) -> str:
    """A question in another way of asking it.

    >>> asked_by(ways("paraphrases")["visible"], "Does the box contain the ball?", "box", "ball")
    'Based on what is visible, is it true that the box contains the ball?'
    """
    bare = asked.rstrip("?. ")
    parts = {
        "question": bare[:1].lower() + bare[1:],
        "Question": bare,
        "statement": as_statement(bare, subject),
        "s": subject,
        "o": obj,
    }
    return re.sub(r"\{(\w+)\}", lambda found: parts[found.group(1)], way)


def as_statement(asked: str, subject: str) -> str:
    """What a question of the form "Is (Are, Does, Do) the SUBJECT …" asks about, as a statement.

    >>> as_statement("Is the mug on the table?", "mug")
    'the mug is on the table'
    """
    found = re.match(
        rf"(is|are|was|were|does|do)\s+((?:\w+\s+)??{re.escape(subject)})\s+(.*)", asked.rstrip("? "), re.IGNORECASE
    )
    if not found:
        return f'the answer to "{asked.rstrip("? ")}?" is yes'
    verb, named, rest = found.groups()
    match verb.lower():
        case "does":
            first, *others = rest.split(" ", 1)
            return " ".join([named, "has" if first == "have" else first + "s", *others])
        case "do":
            return f"{named} {rest}"
        case _:
            return f"{named} {verb.lower()} {rest}"
