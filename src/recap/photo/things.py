"""The things that the model for photographs knows, and the words by which it knows them."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources


@cache
def things() -> dict[str, tuple[str, ...]]:
    """Other words for every thing, by its name, in the order of COCO's classes.

    >>> len(things()), things()["couch"]
    (80, ('sofa',))
    """
    text = resources.files("recap.photo").joinpath("things.toml").read_text("utf-8")
    return {each["name"]: tuple(each.get("others", ())) for each in tomllib.loads(text)["thing"]}


@cache
def number_of() -> dict[str, int]:
    """The class of every name, other words included."""
    found = {other: number for number, others in enumerate(things().values()) for other in others}
    return found | {name: number for number, name in enumerate(things())}
