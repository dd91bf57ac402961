"""What a pronoun means: the one thing that fits, or nothing."""

from __future__ import annotations

from recap.claims.text.chunks import Chunk
from recap.claims.text.clause import Clause
from recap.claims.text.cursor import Things
from recap.claims.text.idioms import is_place


def fits(pronoun: Chunk, thing: Chunk) -> bool:
    """Whether a pronoun may mean this thing, by number and by whether it is somebody."""
    if is_place(thing):
        return False
    person, several = thing.among("things.persons"), thing.plural
    match pronoun.low:
        case "it":
            return not several and (not person or thing.noun == "baby")
        case "they" | "them":
            return several
        case "he" | "him" | "she" | "her":
            return person and not several
        case _:
            return False


def owns(possessive: str, thing: Chunk) -> bool:
    """Whether "his", "her", "its" or "their" may be this thing's."""
    if is_place(thing):
        return False
    person = thing.among("things.persons")
    match possessive:
        case "his" | "her":
            return person and not thing.plural
        case "their":
            return thing.plural
        case _:
            return not thing.plural and (not person or thing.noun == "baby")


def only_one(pronoun: Chunk | None, named: Things) -> Things:
    """The one thing among these that a pronoun may mean; none where there are several, or none."""
    fitting = {c.name.lower(): c for c in named if pronoun is None or fits(pronoun, c)}
    if not fitting and pronoun is not None and pronoun.low in ("he", "him", "she", "her"):
        fitting = {c.name.lower(): c for c in named if _may_be_somebody(c)}
    return list(fitting.values()) if len(fitting) == 1 else []


def _may_be_somebody(thing: Chunk) -> bool:
    """Whether a noun that no list has may be a person: a name, or one in -er, -ist, -naut and the like."""
    ends = thing.noun.endswith(("er", "or", "ist", "ian", "man", "naut", "ess", "ant", "ee"))
    return not thing.plural and not is_place(thing) and (ends or thing.tag == "NP0")


def as_subject(pronoun: Chunk, topic: Things, named: Things) -> Things:
    """A pronoun as subject goes on about the subject before it; without one, about the only thing that fits."""
    if pronoun.low == "they" and len(topic) > 1:
        return topic
    return only_one(pronoun, topic) or only_one(pronoun, named)


def as_object(pronoun: Chunk, clause: Clause, topic: Things, named: Things, *, opens: bool) -> Things:
    """A pronoun after a relation phrase; `opens` where the two begin the sentence ("Next to it is …")."""
    inside = bool(clause.owners) and clause.owners[0].among("places.interiors")
    if clause.owned and clause.owners and not (inside and only_one(pronoun, clause.last)):
        if any(fits(pronoun, c) for c in clause.owners):
            return clause.owners
        # "a stack of books … with a cat on top of them"
        parts = [c for c in clause.subjects if pronoun.low == "them" and c.part_of and c.part_of.tag == "NN2"]
        return parts or only_one(pronoun, clause.subjects)
    if clause.owned and inside:
        return only_one(pronoun, clause.last)  # "a bathroom with a toilet beside a sink and a mirror above it"
    several = pronoun.low == "them"
    if opens and topic:
        return topic if several and len(topic) > 1 else only_one(pronoun, topic)
    if several and len(clause.subjects) > 1:
        return clause.subjects
    others = [c for c in named if c not in clause.subjects and c not in clause.owned]
    # "a piano in the corner of the room, and a lamp on top of it" does not speak of the top of the room
    return only_one(pronoun, others) or only_one(pronoun, [c for c in others if not c.among("places.interiors")])
