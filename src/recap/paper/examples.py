"""Example audits for a report: answers of held-out rows, with their pictures where these can be had."""

from __future__ import annotations

import io
from pathlib import Path

from recap.audit import verdict_on
from recap.datasets.probing import locate
from recap.errors import RecapError
from recap.images import open_image
from recap.paper.experiments import Setting, Study
from recap.policy import decide
from recap.report.example_card import ExampleCard, example_card
from recap.report.examples import Example, pick
from recap.schemes import scheme_of

EACH = 3
"""examples a model"""
SIDE = 480
"""pixels of a picture's longer side on the page"""


def example_cards(study: Study, root: Path | None) -> list[ExampleCard]:
    """A few audits of each headline model, on the benchmark with choice groups if there is one; none without pictures.

    As the first split calibrated it: what is shown was held out.
    """
    cards: list[ExampleCard] = []
    for model in study.headline:
        data = [study.controlled, *study.primary] if study.controlled else study.primary
        settings = [s for name in data if name and (s := study.setting(model, name)) is not None]
        if settings and settings[0].policies:
            cards += _cards(study, settings[0], _folder(root, settings[0]))
    return cards


def _folder(root: Path | None, s: Setting) -> Path | None:
    """Where a benchmark's pictures lie: a folder of its own below the root, or the root itself."""
    if root is None:
        return None
    return root / s.data if (root / s.data).is_dir() else root


def _cards(study: Study, s: Setting, folder: Path | None) -> list[ExampleCard]:
    policy, held = s.policies[0], s.table.where(~s.sides[0])
    found: list[ExampleCard] = []
    for row in pick(list(decide(policy, held)), held.rows, EACH):
        example = Example(study.title(s.model), row, verdict_on(row, policy, s.table.graph))
        try:
            picture = _picture(row.image or "", folder)
        except RecapError:
            continue
        scheme = scheme_of(row.image)
        scene = "A photograph" if scheme is None else scheme.PICTURE
        found.append(example_card(example, picture, scene=scene))
    return found


def _picture(image: str, folder: Path | None) -> bytes:
    scheme = scheme_of(image)
    shown = open_image(locate(folder or Path(), image)) if scheme is None else scheme.open_image(image, SIDE)
    shown.thumbnail((SIDE, SIDE))
    stream = io.BytesIO()
    shown.save(stream, "JPEG", quality=88)
    return stream.getvalue()
