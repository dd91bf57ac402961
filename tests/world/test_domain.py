"""What the two small models take for their own pictures; `python -m benchmarks.domain` measures it at length."""

from __future__ import annotations

import subprocess
import sys
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from recap.models.domain import Domain, load_domain
from recap.models.domain.features import picture_features
from recap.models.domain.pictures import compressed
from recap.models.local import LocalModel
from recap.world.backgrounds import OUTDOORS
from recap.world.benchmarks import ELSEWHERE, USUAL
from recap.world.bundled import MODELS, checkpoint_folder
from recap.world.draw import draw
from recap.world.objects import things
from recap.world.sample import SceneStyle, sample
from recap.world.training.domain import scene_pictures
from tests.conftest import DATA

ROOT = Path(__file__).parents[2]
Own = tuple[LocalModel, Domain]


@pytest.fixture(scope="module", params=MODELS)
def own(request: pytest.FixtureRequest) -> Own:
    folder = checkpoint_folder(request.param)
    domain = load_domain(folder)
    assert domain is not None
    return LocalModel.load(str(folder), dtype="float32"), domain


def refused(own: Own, pictures: list[Image.Image]) -> float:
    model, domain = own
    return float((domain.strangeness(picture_features(model, pictures, domain.layers, domain.statistics)) > 1).mean())


@pytest.fixture(scope="module")
def drawn() -> list[Image.Image]:
    """Scenes of seeds and rooms that nobody used, each as a model's picture, larger, and as a JPEG of that."""
    pictures: list[Image.Image] = []
    for number, style in enumerate((SceneStyle(), USUAL, ELSEWHERE)):
        scenes = sample(24, (9001, number), style)
        pictures += [draw(scenes, row) for row in range(24)]
        large = [draw(scenes, row, 300) for row in range(0, 24, 2)]
        pictures += large + [compressed(each.resize((260, 250)), 72) for each in large]
    return pictures


def test_few_of_its_own_pictures_are_refused(own: Own, drawn: list[Image.Image]) -> None:
    assert refused(own, drawn) <= 0.05


def test_photographs_are_refused(own: Own) -> None:
    with resources.as_file(resources.files("recap.server").joinpath("photographs")) as folder:
        photographs = [Image.open(path).convert("RGB") for path in folder.glob("*.jpg")]
    assert len(photographs) == 3
    assert refused(own, photographs) == 1


def test_photographs_of_the_benchmarks_are_refused(own: Own) -> None:
    files = sorted((DATA / "photos").glob("*.jpg")) + sorted((DATA / "whatsup" / "images").rglob("*.jp*g"))
    if not files:
        pytest.skip("no photographs: $RECAP_TEST_DATA names a folder that has some")
    assert refused(own, [Image.open(path).convert("RGB") for path in files]) >= 0.95


def test_colours_and_noise_are_refused(own: Own) -> None:
    rng = np.random.default_rng(8)
    plain = [Image.new("RGB", (200, 150), tuple(rng.integers(0, 256, 3).tolist())) for _ in range(60)]
    noise = [Image.fromarray(rng.integers(0, 256, (150, 200, 3), np.uint8)) for _ in range(20)]
    assert refused(own, plain) >= 0.9
    assert refused(own, noise) >= 0.95


def test_the_domain_names_the_things_of_the_world(own: Own) -> None:
    assert own[1].things == tuple(things())
    assert own[1].pictures == "drawn scenes"


def test_pictures_to_fit_on_are_the_same_every_time_and_of_both_kinds() -> None:
    first, again = (list(scene_pictures(8, 3, (50_000, 64))) for _ in range(2))
    assert [each.tobytes() for each in first] == [each.tobytes() for each in again]
    assert len(first) == 8
    assert OUTDOORS > 50_064  # or rooms would turn into landscapes


@pytest.mark.slow
def test_the_promised_shares_are_refused() -> None:
    command = [sys.executable, "-m", "benchmarks.domain", "--check", "--scenes", "80"]
    command += [part for name in (*(f"world:{name}" for name in MODELS), "photo:coco") for part in ("--model", name)]
    photographs = DATA / "photos"
    if photographs.is_dir():
        command += ["--photographs", str(photographs)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert ran.returncode == 0, ran.stdout + ran.stderr
