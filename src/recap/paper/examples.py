"""Example audits for a report: answers of held-out rows, with their pictures where these can be had."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

from recap.audit import verdict_on
from recap.datasets.probing import locate
from recap.errors import RecapError
from recap.images import open_image
from recap.paper.experiments import Setting, Study
from recap.policy import decide
from recap.report.examples import Example, ExampleCard, example_card, pick
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
        with contextlib.suppress(RecapError):  # too few units to calibrate on, which the experiments say
            if settings and settings[0].policies:
                cards += _cards(study, settings[0], root)
    return cards


def _cards(study: Study, s: Setting, root: Path | None) -> list[ExampleCard]:
    # A benchmark's pictures lie in a folder of its own below the root, or in the root itself.
    folder = root / s.data if root and (root / s.data).is_dir() else root
    policy, held = s.policies[0], s.table.where(~s.sides[0])
    cards: list[ExampleCard] = []
    for row in pick(list(decide(policy, held)), held.rows, EACH):
        example = Example(study.title(s.model), row, verdict_on(row, policy, s.table.graph))
        with contextlib.suppress(RecapError):  # a picture that is not here
            cards.append(card_of(example, folder))
    return cards


def card_of(example: Example, folder: Path | None = None) -> ExampleCard:
    """The card of an answer, with its picture from a scheme, or from where its benchmark's pictures lie."""
    name = example.row.image or ""
    scheme = scheme_of(name)
    picture = open_image(locate(folder or Path(), name)) if scheme is None else scheme.open_image(name, SIDE)
    picture.thumbnail((SIDE, SIDE))
    stream = io.BytesIO()
    picture.save(stream, "JPEG", quality=88)
    scene = "A photograph" if scheme is None else scheme.PICTURE
    return example_card(example, stream.getvalue(), scene=scene)
