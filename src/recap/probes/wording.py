"""Question wording: the fixed template of each relation, kept as data in `wording.toml`."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources

from recap.claims import Graph


@cache
def _questions() -> dict[str, str]:
    text = resources.files("recap.probes").joinpath("wording.toml").read_text("utf-8")
    return tomllib.loads(text)["questions"]


def question(subject: str, relation: str, obj: str, graph: Graph | None = None) -> str:
    """The yes/no question about one relation over one ordered pair.

    >>> question("mug", "left_of", "laptop")
    'Is the mug to the left of the laptop?'
    """
    own = graph.relations[relation].question if graph and relation in graph else None
    template = own or _questions().get(relation) or f"Is the {{s}} {relation.replace('_', ' ')} the {{o}}?"
    return template.replace("{s}", subject).replace("{o}", obj)
