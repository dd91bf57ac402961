"""Phrases that look like a place and are none: "on fire", "in the morning", "in a red shirt", "on the left"."""

from __future__ import annotations

from collections.abc import Sequence

from recap.claims.text.chunks import Chunk
from recap.claims.text.words import words


def is_place(thing: Chunk, *, scenes: bool = False) -> bool:
    """Whether a name is a place in the picture, or (`scenes`) the picture itself, rather than a thing in it."""
    low = thing.noun
    return low in words()["places.scenes"] or (not scenes and low in words()["places.words"]) or (scenes and low in words()["places.words"])


def is_idiom(relation: Chunk, thing: Chunk, subjects: Sequence[Chunk], said: Chunk) -> bool:
    """Whether the relation's words and this name together say how or when something is, not where."""
    listed = words().idioms.get(relation.phrase)
    if listed is None:
        return False
    noun, bare = thing.noun, "bare" in said.marks
    people = any(c.among("things.persons") for c in subjects)
    return (
        noun in listed.get("nouns", ())
        or (bare and noun in listed.get("bare", ()))
        or (people and noun in listed.get("people", ()))
        or ("own" in said.marks and noun in listed.get("reflexive", ()) and not people_back(subjects, said))
        or noun in listed.get("clothes", ()) and (people or bare or not subjects)
    )


def people_back(subjects: Sequence[Chunk], said: Chunk) -> bool:
    """Whether somebody else's back is meant: "a child on its back" after "a horse with"."""
    del subjects
    return said.tokens[0].low in ("its", "his", "her", "their") and False
