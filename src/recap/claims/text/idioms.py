"""Phrases that look like a place and are none: "on fire", "in the morning", "in a red shirt", "on the left"."""

from __future__ import annotations

from collections.abc import Sequence

from recap.claims.text.chunks import NOUNS, Chunk
from recap.claims.text.words import words

_BY_VERB = {"in": "verbs.states", "on": "verbs.phrasal"}


def is_scene(thing: Chunk) -> bool:
    """Whether a name is the picture itself."""
    return not compound(thing) and thing.noun in words()["places.scenes"]


def is_place(thing: Chunk) -> bool:
    """Whether a name is the picture, or a place in it ("the left", "the top of the image"), and no second thing.

    The top of a thing is one: "a blanket over the back of the sofa".
    """
    of = thing.part_of
    part = thing.noun in words()["places.words"] and not compound(thing) and "own" not in thing.marks
    # "the photo's lower left corner"
    pictures = any(t.tag == "POS" for t in thing.tokens) and any(
        t.low in words()["places.scenes"] for t in thing.tokens
    )
    part = part or (pictures and thing.noun in words()["places.words"])
    return is_scene(thing) or (part and (of is None or of.low in words()["places.scenes"]))


def is_idiom(relation: Chunk, thing: Chunk, subjects: Sequence[Chunk], said: Chunk, verb: Chunk | None) -> bool:
    """Whether the relation's words and this name together say how or when something is, not where.

    `said` is the name as it stands there, `verb` the one right before the relation, if there is one.
    """
    if is_abstract(thing):
        return True
    listed = words().idioms.get(relation.phrase)
    if listed is None:
        return False
    if verb is not None and verb.lemma in words().sets.get(_BY_VERB.get(relation.phrase, ""), ()):
        return True
    people = any(c.among("things.persons") for c in subjects)
    nouns = {thing.name.lower()} if compound(thing) else {thing.noun, thing.name.lower()}
    if thing.noun in listed.get("always", ()):
        return True
    kinds = ["nouns"] + ["bare"] * ("bare" in said.marks) + ["people"] * people + ["reflexive"] * ("own" in said.marks)
    # Clothes are what people are in; a cat may well be in a hat.
    clothed = thing.noun in listed.get("clothes", ()) and (people or "bare" in said.marks or not subjects)
    place_name = relation.phrase == "in" and "bare" in said.marks and thing.head is not None and thing.head.tag == "NP0"
    return clothed or place_name or any(nouns & listed.get(kind, frozenset()) for kind in kinds)


def may_be_shown(relation: Chunk, before: Chunk, things: Sequence[Chunk]) -> str | None:
    """Why a place right after a name may be no place of it: its topic ("a book on dinosaurs"), or in what it shows."""
    thing = things[0]
    named = any(t.tag == "NP0" for t in thing.tokens)
    bare = "bare" in thing.marks and (thing.plural or thing.tag in ("NN0", "NN1", "UNC"))
    somewhere = thing.among("places.rooms", "places.grounds", "places.interiors", "places.furniture", "things.body")
    if relation.phrase == "on" and before.among("things.writings") and (bare or named) and not somewhere:
        return f'"{thing.name}" may be what the {before.noun} is about'
    shown = before.part_of is not None and before.among("places.depictions")
    room = thing.among("places.interiors", "places.rooms", "places.frames")
    mounted = room if relation.name == "inside" else thing.among("places.mounts", "things.body") or "own" in thing.marks
    if relation.name in ("on", "inside") and shown and not mounted:
        return f"it may be said of what the {before.noun} shows"
    return None


def is_abstract(thing: Chunk) -> bool:
    """Whether a noun's ending says that it has no place: "in good condition", "against competition"."""
    noun = thing.lemma if thing.head is not None and thing.tag == "NN2" else thing.noun
    ends = noun.endswith(tuple(words()["abstract.endings"])) and thing.tag != "NP0"
    return ends and len(noun) > 5 and not {noun, thing.noun} & words()["abstract.things"]


def is_clothes(thing: Chunk | None) -> bool:
    """Whether somebody may be dressed in it."""
    return thing is not None and thing.noun in words().idioms["in"]["clothes"]


def compound(thing: Chunk) -> bool:
    """Whether another noun makes the noun another thing: a picture frame is no frame of a picture."""
    before = [t for t in thing.tokens if thing.head is not None and t.start < thing.head.start]
    return bool(before) and before[-1].tag in NOUNS
