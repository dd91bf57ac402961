"""One clause: what has been read of it, and whom the next relation phrase in it is about."""

from __future__ import annotations

from dataclasses import dataclass, field

from recap.claims.text.chunks import Chunk
from recap.claims.text.cursor import Cursor, Things
from recap.claims.text.words import words

SURFACES = ("on", "inside")
Fronted = tuple[Chunk, Things, bool]
"""a relation, its objects, and whether it is denied"""


@dataclass
class Clause:
    """What has been read of a clause so far."""

    subjects: Things = field(default_factory=list[Chunk])
    joined: Things = field(default_factory=list[Chunk])
    """subjects before these that have words of their own: "a boy in a cap and a girl are …" """
    verb: Chunk | None = None
    objects: Things = field(default_factory=list[Chunk])
    """of the verb"""
    owners: Things = field(default_factory=list[Chunk])
    owned: Things = field(default_factory=list[Chunk])
    """what the owners have, or are with"""
    without: bool = False
    """whether that is denied: "a bench without a cushion on it" """
    told: bool = False
    """whether something was already said of what is owned"""
    last: Things = field(default_factory=list[Chunk])
    """the objects of the last relation"""
    last_relation: str = ""
    prepped: Chunk | None = None
    """the object of a preposition that is no relation"""
    fronted: list[Fronted] = field(default_factory=list[Fronted])
    """relations that stand before their subject"""
    excluded: Things = field(default_factory=list[Chunk])
    """of which the opposite is said: "the dog, not the cat, is …" """
    unjoined: list[tuple[Chunk, bool]] = field(default_factory=list[tuple[Chunk, bool]])
    """relations whose object comes after another one, and whether they are denied: "left of and behind the sofa" """
    denied: bool = False
    hedged: bool = False
    either: bool = False
    """what is said leaves a choice: "either on the tray or …" """
    unreal: bool = False
    aside: bool = False
    """it is about what the clause around looks at, or compares: a verb of its own it has only as a participle"""
    there: bool = False
    """ "there is": the subject comes after the verb"""

    def inner(self, subjects: Things) -> Clause:
        """A clause inside this one, about these."""
        return Clause(subjects=subjects, hedged=self.hedged, unreal=self.unreal)


def living(things: Things) -> bool:
    """Whether a person or an animal is among them."""
    return any(c.among("things.persons", "things.animals") for c in things)


def owners_of_with(clause: Clause, cursor: Cursor, preposition: Chunk) -> Things | None:
    """Whose "with" it is: the thing right before it, unless a verb has moved the sentence's subject in between.

    "playing with a toy" has none; "running with a stick in its mouth" has.
    """
    before = cursor.before(preposition)
    if before is not None and before.kind == "verb" and "be" not in before.marks:
        next_thing = cursor.ahead(1)
        own = cursor.comes("relation", "thing") and next_thing is not None and "own" in next_thing.marks
        return clause.subjects if own else None
    named = before is not None and before.kind == "thing" and "pronoun" not in before.marks
    if before is None or not named or before in clause.subjects:
        return clause.subjects
    if before in clause.owned or before in clause.objects or not clause.subjects:
        return [before]
    if clause.verb is None and not before.among("places.interiors"):
        return [before]
    # "beside a plate with a burger on it" speaks of the plate, "beside a couch with a bone in front of it" does not.
    after = cursor.after_list()
    return [before] if after is not None and after.name in SURFACES else clause.subjects


def subjects_of(clause: Clause, cursor: Cursor, relation: Chunk, things: Things) -> Things:
    """Whom a relation phrase is about, given what it relates them to."""
    before = cursor.before(relation)
    if clause.owned and _about_owned(clause, cursor, things):
        clause.told = True
        # In "a kitchen with a stove and a window above the sink" the list is the kitchen's, the place the window's.
        room = bool(clause.owners) and clause.owners[0].among("places.rooms") and clause.owners[0] not in things
        return clause.owned[-1:] if room else _not_among(clause.owned, things)
    if relation.name == "contains" and before is not None and before.kind == "thing" and " " in relation.phrase:
        return clause.subjects if before in clause.subjects else [before]
    if clause.verb is not None and any("pronoun" not in c.marks for c in clause.objects):
        body = any(c.among("things.body") or "own" in c.marks for c in things)
        lemma = clause.verb.lemma
        if lemma in words()["verbs.placing"] or (lemma in words()["verbs.holding"] and body):
            return clause.objects
        around = any(c.among("places.grounds", "places.interiors") for c in things)
        if lemma in words()["verbs.working"] and relation.name == "on" and not around:
            return clause.objects
    if before is not None and _about_neighbour(clause, relation, before, things):
        return [before]
    return _not_among(clause.subjects, things)


def _about_owned(clause: Clause, cursor: Cursor, things: Things) -> bool:
    """ "a plate with a sandwich on it" is about the sandwich, "a man with a dog on a beach" about the man."""
    owner = clause.owners[0] if clause.owners else None
    if any(c in clause.owners or "own" in c.marks for c in things):
        return True
    if owner is None or owner not in clause.subjects:
        return True
    if clause.told and any(c in clause.owners for c in clause.last):
        return False  # "a pan with eggs in it on the stove"
    if not clause.told and any("own" in c.marks and c.among("things.body") for c in clause.owned):
        return True  # "a cat with its head in a cup"
    if clause.told and living(clause.owners):
        return False
    preposition = cursor.before(clause.owned[0], "and", "comma", "thing")
    neighbour = cursor.before(preposition) if preposition is not None else None
    if neighbour is not None and neighbour not in clause.subjects:
        return True  # the "with" stands after another thing than the subject
    if living(clause.owners):
        return any("definite" in c.marks and c.among("things.body") for c in things)
    acts = clause.verb is not None and clause.verb.start > clause.owned[0].start
    return owner.among("places.rooms") or acts or any("definite" in c.marks for c in things)


def _about_neighbour(clause: Clause, relation: Chunk, before: Chunk, things: Things) -> bool:
    """ "next to a boy on a scooter": an animal or a person, on something that is not the ground of all."""
    own = "bare" in before.marks or before in clause.subjects + clause.objects  # "in mid air" is no thing
    passed = before in clause.last or (before.kind == "thing" and not own)
    if relation.name == "above" and passed:
        # "in front of a mirror above a sink": who stands there is above nothing.
        lemma = clause.verb.lemma if clause.verb is not None else ""
        grounded = lemma in words()["verbs.grounded"] or (
            living(clause.subjects) and lemma not in words()["verbs.rising"]
        )
        return grounded and (before not in clause.last or clause.last_relation not in (*SURFACES, "above"))
    after_relation = before in clause.last and clause.last_relation not in SURFACES
    return (
        (after_relation or before is clause.prepped)
        and relation.name in SURFACES
        and living([before])
        and not any(c.among("places.grounds", "places.rooms") for c in things)
    )


def _not_among(subjects: Things, things: Things) -> Things:
    """ "a stove, a sink and a microwave above the stove" says it of the microwave alone."""
    nouns = {c.noun for c in things}
    return subjects[-1:] if len(subjects) > 1 and any(c.noun in nouns for c in subjects) else subjects
