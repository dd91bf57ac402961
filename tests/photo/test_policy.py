"""The policies that go with the models for photographs: what they were calibrated on, and that they fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import recap
from recap.claims import default_graph
from recap.datasets.benchmarks import load_vsr
from recap.models.load import load_model
from recap.photo.bundled import MODELS, PREFIX, policy_file
from recap.photo.things import things
from recap.photo.training.annotations import NOTHING, Boxes, is_held_out
from recap.photo.training.policy import dev_statements, held_out, is_for_measuring
from recap.photo.training.supposed import AREA, neighbours, supposed_statements
from recap.policy import check_policy, load_policy
from tests.conftest import DATA

VSR = DATA / "vsr" / "random"
needs_vsr = pytest.mark.skipif(not VSR.is_dir(), reason="VSR's statements are not on this machine")


def has_policy(name: str) -> bool:
    try:
        return policy_file(PREFIX + name).is_file()
    except recap.RecapError:  # this checkpoint is not in the box
        return False


@pytest.mark.parametrize("name", ["coco", *(name for name in MODELS if name != "coco" and has_policy(name))])
def test_a_shipped_policy_fits_the_shipped_weights(name: str) -> None:
    policy = load_policy(policy_file(PREFIX + name))
    check_policy(policy, default_graph(), str(load_model(PREFIX + name).identity), "the model")
    assert policy.cdfs.sample is not None  # what drift is measured against
    assert policy.fallback is not None
    assert policy.existence is not None
    assert policy.presupposition is not None


@needs_vsr
def test_nothing_that_is_measured_on_calibrates() -> None:
    everything = set(range(600_000))
    used = {int(Path(item.image).stem) for item in dev_statements(VSR, everything)}
    tested = {int(Path(item.image).stem) for item in load_vsr(VSR).items}
    assert len(used) > 700
    assert not used & tested
    assert not any(map(is_for_measuring, used))
    supposed = held_out(range(0, 600_000, 10), VSR)
    assert all(is_held_out(each) and not is_for_measuring(each) for each in supposed)
    assert not set(supposed) & (used | tested)


def boxes(pictures: int, seed: int = 0) -> Boxes:
    """Pictures with one to five boxes anywhere, some of them tiny."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, len(things()), (pictures, 5))
    kind[np.arange(5)[None] >= rng.integers(1, 6, pictures)[:, None]] = NOTHING
    corner = rng.uniform(0, 0.6, (pictures, 5, 2))
    side = rng.choice([0.01, 0.2, 0.4], (pictures, 5, 2))
    return Boxes(np.arange(pictures), kind, np.concatenate([corner, corner + side], -1))


def test_labels_follow_from_the_boxes() -> None:
    known = boxes(200)
    paths = {image: Path(f"{image:012d}.jpg") for image in range(200)}
    items = supposed_statements(known, paths, range(200), neighbours(known), seed=1)
    assert items == supposed_statements(known, paths, range(200), neighbours(known), seed=1)
    names, edge = [*things()], {"left_of": (2, 0, 1), "right_of": (0, 2, -1), "above": (3, 1, 1), "below": (1, 3, -1)}
    counts = {"yes": 0, "no": 0}
    for item in items:
        row = int(Path(item.image).stem)
        places = {names[k]: c for k, c in zip(known.kind[row], known.corners[row], strict=True) if k != NOTHING}
        said = item.statement
        counts[item.label or ""] += 1
        if said.relation == "exists":
            assert (said.subject in places) == (item.label == "yes")
        elif item.label == "no":
            assert (said.subject in places) + (said.object in places) == 1
        else:
            one, two, sign = edge[said.relation]
            assert sign * places[said.object][two] > sign * places[said.subject][one]
            box = places[said.subject]
            assert (box[2] - box[0]) * (box[3] - box[1]) >= AREA
    assert min(counts.values()) > 200


def test_half_of_the_absent_things_go_with_what_is_there() -> None:
    """Two kinds of pictures; what stands only in the other kind is rarely asked for."""
    kind = np.tile(np.array([[0, 1, 2, 3], [10, 11, 12, 13]]), (200, 1))
    kind[::4, 3] = kind[1::4, 3] = NOTHING  # so that 3 and 13 are likely, and sometimes absent
    side = np.array([0.1, 0.1, 0.4, 0.4])
    known = Boxes(np.arange(400), kind, np.tile(side, (400, 4, 1)))
    items = supposed_statements(known, dict.fromkeys(range(400), Path("1.jpg")), range(400), neighbours(known), seed=2)
    absent = [item.statement.subject for item in items if item.statement.relation == "exists" and item.label == "no"]
    likely = sum(name in ([*things()][3], [*things()][13]) for name in absent)
    assert likely > 100
