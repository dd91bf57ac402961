"""Fitting the domain of a checkpoint to its own pictures, with nothing known of foreign ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from PIL import Image

from recap.arrays import Floats
from recap.errors import RecapError
from recap.models.domain.features import picture_features
from recap.models.domain.file import MOMENTS, Domain
from recap.models.local import LocalModel

AXES = 128
"""principal axes that are kept; what lies beyond them is one number"""
REFUSED = 0.01
"""share of held-out pictures of its own that a domain refuses: what is promised is 5 %, of pictures yet unseen"""
CONSTANT = 1e-5
"""a feature whose standard deviation is no larger, relative to its size, is the same in every picture"""


def fit_domain(
    model: LocalModel,
    pictures: Iterable[Image.Image],
    held_out: Iterable[Image.Image],
    *,
    called: str,
    things: Sequence[str],
    layers: Sequence[int] = (-1,),
    statistics: Sequence[str] = MOMENTS,
    axes: int = AXES,
    refused: float = REFUSED,
    record: dict[str, Any] | None = None,
) -> Domain:
    """The domain of a model: `pictures` like those it was trained on, `held_out` ones for the threshold.

    Both should hold what will be shown to it: every size, format and compression that is still its world. `called`
    is what people call such pictures, `things` the nouns that the model knows.
    """
    inside = picture_features(model, pictures, layers, statistics)
    apart = picture_features(model, held_out, layers, statistics)
    return domain_of(inside, apart, called, things, layers, axes, refused, record, statistics)


def domain_of(
    inside: Floats,
    apart: Floats,
    called: str,
    things: Sequence[str],
    layers: Sequence[int],
    axes: int = AXES,
    refused: float = REFUSED,
    record: dict[str, Any] | None = None,
    statistics: Sequence[str] = MOMENTS,
) -> Domain:
    """The same from features, (n, d) and (m, d)."""
    # What is the same in every picture, such as a place's coordinates, tells nothing: measured in its own tiny spread,
    # its rounding would be all that counts.
    mean, scale = inside.mean(0), inside.std(0) + 1e-6
    varies = scale > CONSTANT * (1 + np.abs(mean))
    scale = np.where(varies, scale, 1.0)
    n, d = len(inside), int(varies.sum())
    if n < 4 * axes or axes >= d:
        raise RecapError(f"{axes} axes need at least {4 * axes} pictures and more than {axes} features: {n} and {d}")
    if len(apart) * refused < 2:
        raise RecapError(f"{len(apart)} held-out pictures are too few to refuse {refused:.0%} of them")
    values, vectors = np.linalg.eigh(np.cov((inside - mean) / scale, rowvar=False))
    values, vectors = values[::-1], vectors[:, ::-1]
    rest = float(values[axes:d].mean())
    arrays = (mean, scale, vectors[:, :axes].T, values[:axes])
    # As the file will give them back, so that the threshold is fixed on what is applied.
    mean, scale, kept, variances = (each.astype(np.float16).astype(np.float64) for each in arrays)
    known = tuple(dict.fromkeys(" ".join(thing.lower().split()) for thing in things))
    made = Domain(called, known, tuple(layers), 1.0, mean, scale, kept, variances, rest, tuple(statistics))
    threshold = float(np.quantile(made.distance(apart), 1 - refused))
    told = {"pictures": n, "held_out": len(apart), "refused_of_held_out": refused, **(record or {})}
    return replace(made, threshold=threshold, record=told)
