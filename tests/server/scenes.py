"""A few scenes in the box, and questions about what is in them."""

from __future__ import annotations

from recap.world.benchmarks import benchmark
from recap.world.objects import things
from recap.world.scene import NOTHING

SCENES = [f"world:whatsup/{number:04d}" for number in (32, 33, 34, 35, 36, 37)]


def questions(scene: str) -> list[str]:
    """Whether the first thing of a scene is left, or right, of the second."""
    names, kinds = list(things()), benchmark("whatsup").scenes.thing[int(scene[-4:])]
    first, second, *_ = [names[int(kind)] for kind in kinds if kind != NOTHING]
    return [f"Is the {first} to the {side} of the {second}?" for side in ("left", "right")]
