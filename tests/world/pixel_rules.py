"""What is true of two things, told from pixels alone: their masks, and which of them is seen where both are.

The rules know no coordinates, depths or holders. They are written apart from `recap.world.truth`, as a check on it, and
decide where that leaves a band unclear. Lengths are shares of the picture's side.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt

from recap.world.draw import Painting

Mask = NDArray[np.bool_]

SIDEWAYS = 0.0825
"""centroids this far apart: one is beside the other"""
LIFT = 0.03
"""feet this far apart are at different heights"""
SURFACE = 0.35
"""how far a foot may reach below the top edge of what it stands on, as a share of that one's height"""
CONTACT = 0.015
WIDE = 0.22
"""gaps that are wider are far, others are near"""


@dataclass(frozen=True)
class Two:
    """Two things of one picture, cut out of it: their whole masks, and where each is the nearest."""

    a: Mask
    b: Mask
    a_seen: Mask
    b_seen: Mask
    side: int
    """pixels along the whole picture"""

    @property
    def swapped(self) -> Two:
        """The other way round."""
        return Two(self.b, self.a, self.b_seen, self.a_seen, self.side)

    @cached_property
    def gap(self) -> float:
        """The shortest way from one mask to the other."""
        return float(distance_transform_edt(~self.b)[self.a].min()) / self.side

    @cached_property
    def both(self) -> Mask:
        """Where both are, one of them hidden."""
        return self.a & self.b

    @cached_property
    def columns(self) -> NDArray[np.int64]:
        """Those that show both."""
        return np.flatnonzero(self.a.any(0) & self.b.any(0))

    @cached_property
    def column_share(self) -> float:
        """Columns that show both, as a share of the narrower one's."""
        return len(self.columns) / min(self.a.any(0).sum(), self.b.any(0).sum())


def two_of(painting: Painting, i: int, j: int) -> Two:
    """The things in places i and j."""
    a, b = painting.masks[i], painting.masks[j]
    rows, columns = (np.flatnonzero((a | b).any(axis)) for axis in (1, 0))
    cut = (slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1))
    nearest = painting.nearest[cut]
    return Two(a[cut], b[cut], nearest == i, nearest == j, len(a))


def top(mask: Mask) -> int:
    return int(np.flatnonzero(mask.any(1))[0])


def bottom(mask: Mask) -> int:
    return int(np.flatnonzero(mask.any(1))[-1])


def height(mask: Mask) -> int:
    return bottom(mask) - top(mask) + 1


def foot(mask: Mask) -> Mask:
    """Its three lowest rows."""
    found = mask.copy()
    found[: bottom(mask) - 2] = False
    return found


def centroid(mask: Mask) -> tuple[float, float]:
    y, x = np.nonzero(mask)
    return float(x.mean()), float(y.mean())


def lifted(two: Two) -> bool:
    """Its foot is higher in the picture than the other's."""
    return bottom(two.b) - bottom(two.a) >= LIFT * two.side


def left_of(two: Two) -> bool:
    """Its centre is clearly to the left, and hardly a column shows both."""
    step = centroid(two.b)[0] - centroid(two.a)[0]
    return step >= SIDEWAYS * two.side and two.column_share < 0.1


def above(two: Two) -> bool:
    """In most columns that show both, it ends where the other begins, or on the other's top side.

    What stands on the same ground must span the other, as a table does. What has its foot half-way down the other, or
    hidden by it, is behind the other.
    """
    if centroid(two.a)[1] >= centroid(two.b)[1] or two.column_share < 0.5:
        return False
    if lifted(two):
        behind = bottom(two.a) - top(two.b) > SURFACE * height(two.b) or (foot(two.a) & two.b_seen).any()
        if behind:
            return False
    elif two.a.any(0)[two.b.any(0)].mean() < 0.9:
        return False
    a, b = two.a[:, two.columns], two.b[:, two.columns]
    lowest = len(a) - 1 - a[::-1].argmax(0)
    overlap = lowest - b.argmax(0)
    return float(np.median(overlap)) <= SURFACE * height(two.b)


def on(two: Two) -> bool:
    """Above, held up higher than the other's foot, and its own foot meets the other."""
    if not above(two) or not lifted(two):
        return False
    away = distance_transform_edt(~two.b)[foot(two.a)]
    return float((away <= CONTACT * two.side).mean()) >= 0.5


def inside(two: Two) -> bool:
    """Between the other's back, before which it is seen, and the other's front, which hides its foot."""
    before, hidden = two.both & two.a_seen, two.both & two.b_seen
    if not before.any() or not hidden.any():
        return False
    return centroid(before)[1] < centroid(hidden)[1] and bottom(hidden) >= bottom(two.a) - 2


def in_front_of(two: Two) -> bool:
    """Stands lower in the picture and reaches up into the other's rows, and nothing of the other hides it."""
    if not lifted(two.swapped) or two.column_share < 0.4:
        return False
    return top(two.a) <= bottom(two.b) and not (two.both & two.b_seen).any()


def near(two: Two) -> bool:
    return two.gap < WIDE


def far(two: Two) -> bool:
    return not near(two)


def touching(two: Two) -> bool:
    return two.gap <= CONTACT


def _of_the_other(rule: Callable[[Two], bool]) -> Callable[[Two], bool]:
    return lambda two: rule(two.swapped)


RULES: dict[str, Callable[[Two], bool]] = {
    "left_of": left_of,
    "right_of": _of_the_other(left_of),
    "above": above,
    "below": _of_the_other(above),
    "on": on,
    "inside": inside,
    "contains": _of_the_other(inside),
    "in_front_of": in_front_of,
    "behind": _of_the_other(in_front_of),
    "near": near,
    "far": far,
    "far_from": far,
    "touching": touching,
}
