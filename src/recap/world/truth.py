"""What is true in a scene, by geometry. A statement that people could see either way is unclear, and is not asked.

All rules read as: the thing in place `i` RELATION the thing in place `j`. Distances are shares of the picture's side.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from recap.arrays import Bools, Ints
from recap.world.scene import Link, Scenes, reach_of

YES, NO, UNCLEAR = 1, 0, -1
Judged = tuple[Bools, Bools]
"""where a rule says yes, and where it says no unless it says yes"""

BESIDE = 0.10
"""centres at least this far apart, and no overlap sideways: left or right for certain"""
LEVEL = 0.065
"""centres at most this far apart: certainly neither left nor right"""
SAME_DEPTH, OTHER_DEPTH = 0.05, 0.2
CLOSE, DISTANT = 0.085, 0.35
"""gaps that everyone calls near, and that everyone calls far"""
AIR = 0.045
"""a gap that everyone sees"""


class Seen:
    """The things in places i and j of each of N scenes, as the rules see them. Arrays (N,)."""

    def __init__(self, scenes: Scenes, i: Ints, j: Ints) -> None:
        rows, reach, depth, link = np.arange(len(scenes)), reach_of(scenes), scenes.depth, scenes.link
        left, right, top, bottom, middle, _ = ((side[rows, i], side[rows, j]) for side in reach)
        widths = [np.maximum(right[k] - left[k], 1e-9) for k in (0, 1)]  # an empty place has none
        overlap = np.minimum(*right) - np.maximum(*left)
        self.dx = middle[1] - middle[0]  # how far the second's centre is to the right of the first's
        self.apart_x = -overlap  # gap sideways; negative where they overlap
        self.apart_y = np.maximum(*top) - np.minimum(*bottom)
        self.shared = overlap / np.minimum(*widths)  # overlap sideways, as a share of the narrower one
        # How far the first's lowest point is above the second's highest; negative where they overlap in height.
        self.drop = top[1] - bottom[0]
        self.nearer = depth[rows, j] - depth[rows, i]  # how much nearer the first is
        # They overlap by half the height of the lower one of the two, or the first is below the second.
        self.lower = self.drop <= -0.5 * np.minimum(bottom[0] - top[0], bottom[1] - top[1])
        self.both_stand = (link[rows, i] == Link.GROUND) & (link[rows, j] == Link.GROUND)
        # The Link by which the second holds the first, GROUND where it does not.
        self.holds = np.where(scenes.holder[rows, i] == j, link[rows, i], Link.GROUND)
        # The Link by which the first holds the second.
        self.held = np.where(scenes.holder[rows, j] == i, link[rows, j], Link.GROUND)
        self.linked = (self.holds != Link.GROUND) | (self.held != Link.GROUND)
        self.wider = widths[0] / widths[1]  # the first's width as a share of the second's
        self.level = np.abs(self.nearer) <= SAME_DEPTH
        # One of the two hangs on a string.
        self.strung = (link[rows, i] == Link.STRING) | (link[rows, j] == Link.STRING)
        # Gap between the two, in whatever direction.
        self.distance = np.hypot(np.maximum(self.apart_x, 0), np.maximum(self.apart_y, 0))

    def either(self, link: Link) -> Bools:
        """One of the two holds the other by this link."""
        return (self.holds == link) | (self.held == link)

    def left_of(self) -> Judged:
        return (self.apart_x > 0.004) & (self.dx >= BESIDE), self.dx <= LEVEL

    def above(self) -> Judged:
        """A thing on another is above it, a table above what lies between its legs. In or out of a bowl is unclear."""
        over = ~self.both_stand & (self.drop >= AIR) & (self.shared >= 0.6) & (np.abs(self.dx) <= BESIDE)
        return over | (self.holds == Link.ON) | (self.held == Link.UNDER), self.lower & ~self.either(Link.IN)

    def on(self) -> Judged:
        return self.holds == Link.ON, ((self.distance >= AIR) | self.lower) & ~self.either(Link.IN)

    def inside(self) -> Judged:
        apart = (self.distance >= AIR) | (self.holds == Link.ON) | (self.holds == Link.UNDER)
        hiding = self.both_stand & (np.abs(self.nearer) >= OTHER_DEPTH)
        return self.holds == Link.IN, (self.held != Link.GROUND) | apart | hiding

    def in_front_of(self) -> Judged:
        """Nearer, and hiding a part, but not all of the ground under it: that would look like one thing on the other.

        Things level in depth, or one above the other, are neither in front nor behind.
        """
        covers = self.both_stand & (self.shared >= 0.5) & (self.apart_y < -0.02)
        yes = covers & (self.nearer >= OTHER_DEPTH) & (self.wider <= 0.85)
        behind = covers & (self.nearer <= -OTHER_DEPTH) & (self.wider >= 1 / 0.85)
        return yes, behind | (self.level & (self.distance >= 0.004) & ~self.linked) | self.either(Link.ON)

    def near(self) -> Judged:
        close = self.level & ~self.strung & ~self.linked & (self.distance <= CLOSE)
        return close, ~self.linked & (self.distance >= DISTANT)

    def far(self) -> Judged:
        close = self.level & ~self.strung & (self.distance <= CLOSE)
        return ~self.linked & (self.distance >= DISTANT), self.linked | close

    def touching(self) -> Judged:
        beside = (np.abs(self.nearer) <= 1e-6) & self.both_stand & (self.apart_x <= 0.003)
        return beside | self.either(Link.ON), ~self.linked & (self.distance >= AIR)


RELATIONS: dict[str, tuple[Callable[[Seen], Judged], bool]] = {
    "left_of": (Seen.left_of, False),
    "right_of": (Seen.left_of, True),
    "above": (Seen.above, False),
    "below": (Seen.above, True),
    "on": (Seen.on, False),
    "inside": (Seen.inside, False),
    "contains": (Seen.inside, True),
    "in_front_of": (Seen.in_front_of, False),
    "behind": (Seen.in_front_of, True),
    "near": (Seen.near, False),
    "far": (Seen.far, False),
    "far_from": (Seen.far, False),
    "touching": (Seen.touching, False),
}
"""each relation's rule, and whether it is read with the two things exchanged"""


def truth(scenes: Scenes, relation: str, i: Ints | int, j: Ints | int) -> Ints:
    """YES, NO or UNCLEAR for each scene: does the thing in place i stand in this relation to the one in place j?"""
    rule, exchanged = RELATIONS[relation]
    first, second = (np.broadcast_to(np.asarray(place), (len(scenes),)) for place in ((j, i) if exchanged else (i, j)))
    rows, present = np.arange(len(scenes)), scenes.present
    there = present[rows, first] & present[rows, second]
    yes, no = rule(Seen(scenes, first, second))
    return np.where(there & (yes | no), np.where(yes, YES, NO), UNCLEAR)
