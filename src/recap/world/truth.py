"""What is true in a scene, by geometry. A statement that people could see either way is unclear, and is not asked.

All rules read as: the thing in place `i` RELATION the thing in place `j`. Distances are shares of the picture's side.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from recap.arrays import Bools, Floats, Ints
from recap.world.scene import Link, Scenes, reach_of

YES, NO, UNCLEAR = 1, 0, -1

BESIDE = 0.10
"""centres at least this far apart, and no overlap sideways: left or right for certain"""
LEVEL = 0.065
"""centres at most this far apart: certainly neither left nor right"""
SAME_DEPTH, OTHER_DEPTH = 0.05, 0.2
CLOSE, DISTANT = 0.085, 0.35
"""gaps that everyone calls near, and that everyone calls far"""
AIR = 0.045
"""a gap that everyone sees"""


@dataclass(frozen=True)
class Seen:
    """Two things of each of N scenes, as the rules see them. Arrays (N,)."""

    dx: Floats
    """how far the second's centre is to the right of the first's"""
    apart_x: Floats
    """gap sideways; negative where they overlap"""
    apart_y: Floats
    shared: Floats
    """overlap sideways, as a share of the narrower one"""
    drop: Floats
    """how far the first's lowest point is above the second's highest; negative where they overlap in height"""
    nearer: Floats
    """how much nearer the first is"""
    height: Floats
    """of the lower one of the two"""
    both_stand: Bools
    holds: Ints
    """the Link by which the second holds the first, GROUND where it does not"""
    held: Ints
    """the Link by which the first holds the second"""
    wider: Floats
    """the first's width as a share of the second's"""
    strung: Bools
    """one of the two hangs on a string"""

    @property
    def linked(self) -> Bools:
        """One holds the other."""
        return (self.holds != Link.GROUND) | (self.held != Link.GROUND)

    @property
    def distance(self) -> Floats:
        """Gap between the two, in whatever direction."""
        return np.hypot(np.maximum(self.apart_x, 0), np.maximum(self.apart_y, 0))


def look(scenes: Scenes, i: Ints, j: Ints) -> Seen:
    """The things in places i and j, one pair per scene."""
    rows, reach = np.arange(len(scenes)), reach_of(scenes)
    left, right, top, bottom = (
        (side[rows, i], side[rows, j]) for side in (reach.left, reach.right, reach.top, reach.bottom)
    )
    widths = [np.maximum(right[k] - left[k], 1e-9) for k in (0, 1)]  # an empty place has none
    overlap = np.minimum(right[0], right[1]) - np.maximum(left[0], left[1])
    link = scenes.link
    return Seen(
        dx=reach.middle_x[rows, j] - reach.middle_x[rows, i],
        apart_x=-overlap,
        apart_y=np.maximum(top[0], top[1]) - np.minimum(bottom[0], bottom[1]),
        shared=overlap / np.minimum(*widths),
        drop=top[1] - bottom[0],
        nearer=scenes.depth[rows, j] - scenes.depth[rows, i],
        height=np.minimum(bottom[0] - top[0], bottom[1] - top[1]),
        both_stand=(link[rows, i] == Link.GROUND) & (link[rows, j] == Link.GROUND),
        holds=np.where(scenes.holder[rows, i] == j, link[rows, i], int(Link.GROUND)),
        held=np.where(scenes.holder[rows, j] == i, link[rows, j], int(Link.GROUND)),
        wider=widths[0] / widths[1],
        strung=(link[rows, i] == Link.STRING) | (link[rows, j] == Link.STRING),
    )


def _judge(yes: Bools, no: Bools) -> Ints:
    return np.where(yes, YES, np.where(no, NO, UNCLEAR))


def _left_of(s: Seen) -> Ints:
    return _judge((s.apart_x > 0.004) & (s.dx >= BESIDE), s.dx <= LEVEL)


def _above(s: Seen) -> Ints:
    """A thing on another is above it, a table is above what lies between its legs. In or out of a bowl is unclear."""
    over = ~s.both_stand & (s.drop >= AIR) & (s.shared >= 0.6) & (np.abs(s.dx) <= BESIDE)
    yes = over | (s.holds == Link.ON) | (s.held == Link.UNDER)
    in_hollow = (s.holds == Link.IN) | (s.held == Link.IN)
    lower = (s.drop <= -0.5 * s.height) & ~in_hollow
    return _judge(yes, lower)


def _on(s: Seen) -> Ints:
    in_hollow = (s.holds == Link.IN) | (s.held == Link.IN)
    apart = (s.distance >= AIR) | (s.drop <= -0.5 * s.height)
    return _judge(s.holds == Link.ON, apart & ~in_hollow)


def _inside(s: Seen) -> Ints:
    other = s.held != Link.GROUND
    apart = (s.distance >= AIR) | (s.holds == Link.ON) | (s.holds == Link.UNDER)
    hiding = s.both_stand & (np.abs(s.nearer) >= OTHER_DEPTH)
    return _judge(s.holds == Link.IN, other | apart | hiding)


def _in_front_of(s: Seen) -> Ints:
    """Nearer, and hiding a part, but not all of the ground under it: that would look like one thing on the other.

    Things level in depth, or one above the other, are neither in front nor behind.
    """
    covers = s.both_stand & (s.shared >= 0.5) & (s.apart_y < -0.02)
    yes = covers & (s.nearer >= OTHER_DEPTH) & (s.wider <= 0.85)
    behind = covers & (s.nearer <= -OTHER_DEPTH) & (s.wider >= 1 / 0.85)
    level = (np.abs(s.nearer) <= SAME_DEPTH) & (s.distance >= 0.004) & ~s.linked
    on = (s.holds == Link.ON) | (s.held == Link.ON)
    return _judge(yes, behind | level | on)


def _near(s: Seen) -> Ints:
    level = (np.abs(s.nearer) <= SAME_DEPTH) & ~s.strung & ~s.linked
    return _judge(level & (s.distance <= CLOSE), ~s.linked & (s.distance >= DISTANT))


def _far(s: Seen) -> Ints:
    level = (np.abs(s.nearer) <= SAME_DEPTH) & ~s.strung
    return _judge(~s.linked & (s.distance >= DISTANT), s.linked | (level & (s.distance <= CLOSE)))


def _touching(s: Seen) -> Ints:
    beside = (np.abs(s.nearer) <= 1e-6) & s.both_stand & (s.apart_x <= 0.003)
    on = (s.holds == Link.ON) | (s.held == Link.ON)
    return _judge(beside | on, ~s.linked & (s.distance >= AIR))


RELATIONS: dict[str, tuple[Callable[[Seen], Ints], bool]] = {
    "left_of": (_left_of, False),
    "right_of": (_left_of, True),
    "above": (_above, False),
    "below": (_above, True),
    "on": (_on, False),
    "inside": (_inside, False),
    "contains": (_inside, True),
    "in_front_of": (_in_front_of, False),
    "behind": (_in_front_of, True),
    "near": (_near, False),
    "far": (_far, False),
    "far_from": (_far, False),
    "touching": (_touching, False),
}
"""each relation's rule, and whether it is read with the two things exchanged"""


def truth(scenes: Scenes, relation: str, i: Ints | int, j: Ints | int) -> Ints:
    """YES, NO or UNCLEAR for each scene: does the thing in place i stand in this relation to the one in place j?"""
    rule, exchanged = RELATIONS[relation]
    first, second = (np.broadcast_to(np.asarray(place), (len(scenes),)) for place in ((j, i) if exchanged else (i, j)))
    rows = np.arange(len(scenes))
    there = scenes.present[rows, first] & scenes.present[rows, second]
    return np.where(there, rule(look(scenes, first, second)), UNCLEAR)
