"""Contradictions that cannot be: what holds nothing contains nothing, so a model that denies it has seen nothing.

"Does the bird contain the tree?" is denied whatever the picture shows. Counted as evidence, it would make every "bird
in the tree" look well supported. In audits of texts such a contradiction is neutral; the paper's suites count all.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources

from recap.claims.graph import Claim

CONTAINS = "contains"


def impossible(claim: Claim) -> tuple[str, ...]:
    """The contradictions of a claim that say that something holds another thing though it cannot hold any."""
    return tuple(name for name in claim.contradictions if name == CONTAINS and not can_contain(claim.subject))


def can_contain(name: str) -> bool:
    """Whether a thing of this name can have others inside: a container, a vehicle, a building, a place."""
    words = name.lower().replace("'s", "").split()
    if "of" in words[1:]:
        words = words[: words.index("of")]
    head = words[-1] if words else ""
    forms = {head, head.removesuffix("s"), head.removesuffix("es"), head.removesuffix("ies") + "y"}
    return bool(forms & _containers()) or " ".join(words[-2:]) in _containers()


@cache
def _containers() -> frozenset[str]:
    text = resources.files("recap.claims").joinpath("containers.toml").read_text("utf-8")
    return frozenset(word for words in tomllib.loads(text).values() for word in words)
