"""What the model for photographs takes for its own; `python -m benchmarks.domain` measures it at length."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from recap.errors import RecapError
from recap.models.domain import Domain, load_domain
from recap.models.domain.features import picture_features
from recap.models.local import LocalModel
from recap.photo.bundled import MODELS, checkpoint_folder
from recap.photo.things import number_of
from recap.photo.training.annotations import is_held_out
from recap.photo.training.domain import chosen, fixes_threshold, photographs, varied
from recap.world.benchmarks import BENCHMARKS, benchmark
from recap.world.draw import MODEL_SIZE, PEOPLE_SIZE, draw
from tests.conftest import DATA

Own = tuple[LocalModel, Domain]


@pytest.fixture(scope="module")
def own() -> Own:
    folder = checkpoint_folder("coco")
    domain = load_domain(folder)
    assert domain is not None
    return LocalModel.load(str(folder), dtype="float32"), domain


@pytest.fixture(scope="module")
def of_the_page() -> list[Image.Image]:
    with resources.as_file(resources.files("recap.server").joinpath("photographs")) as folder:
        return [Image.open(path).convert("RGB") for path in sorted(folder.glob("*.jpg"))]


def refused(own: Own, pictures: list[Image.Image]) -> float:
    model, domain = own
    return float((domain.strangeness(picture_features(model, pictures, domain.layers)) > 1).mean())


def test_photographs_of_the_page_are_its_own(own: Own, of_the_page: list[Image.Image]) -> None:
    assert len(of_the_page) == 3
    assert refused(own, of_the_page) == 0


def test_in_another_shape_light_or_compression_they_stay_its_own(own: Own, of_the_page: list[Image.Image]) -> None:
    rng = np.random.default_rng(99)
    assert refused(own, [varied(picture, rng) for picture in of_the_page for _ in range(10)]) <= 0.05


def test_photographs_of_the_benchmarks_are_its_own(own: Own) -> None:
    files = sorted((DATA / "photos").glob("*.jpg")) + sorted((DATA / "whatsup" / "images").rglob("*.jp*g"))
    if not files:
        pytest.skip("no photographs: $RECAP_TEST_DATA names a folder that has some")
    assert refused(own, [Image.open(path).convert("RGB") for path in files]) <= 0.05


def test_drawn_scenes_are_refused(own: Own) -> None:
    shown = ((3, MODEL_SIZE), (40, PEOPLE_SIZE), (77, 320))
    drawn = [draw(benchmark(name).scenes, row, size) for name in BENCHMARKS for row, size in shown]
    assert refused(own, drawn) >= 0.95


def test_colours_and_noise_are_refused(own: Own) -> None:
    rng = np.random.default_rng(8)
    plain = [Image.new("RGB", (200, 150), tuple(rng.integers(0, 256, 3).tolist())) for _ in range(10)]
    noise = [Image.fromarray(rng.integers(0, 256, (150, 200, 3), np.uint8)) for _ in range(10)]
    assert refused(own, plain + noise) >= 0.95


@pytest.mark.parametrize("name", MODELS)
def test_the_domain_names_the_things_that_the_model_knows(name: str) -> None:
    try:
        domain = load_domain(checkpoint_folder(name))
    except RecapError as error:
        pytest.skip(str(error))
    assert domain is not None
    assert set(domain.things) == set(number_of())
    assert {"sofa", "couch", "traffic light", "person"} <= set(domain.things)
    assert domain.pictures == "photographs"


def test_both_models_see_with_the_same_tower_and_have_the_same_domain() -> None:
    first, second = (checkpoint_folder("coco").parent / name / "domain.npz" for name in MODELS)
    assert first.read_bytes() == second.read_bytes()


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Photographs of the numbers 1 to 400, of which VSR's dev and test have 7 and 50, and its training split 8."""
    photos, statements = tmp_path / "photos", tmp_path / "vsr"
    photos.mkdir()
    statements.mkdir()
    for image in range(1, 401):
        (photos / f"{image:012d}.jpg").touch()
    for split, image in (("train", 8), ("dev", 7), ("test", 50)):
        row = {
            "image": f"{image:012d}.jpg",
            "caption": "The cat is left of the dog.",
            "relation": "left of",
            "label": 1,
        }
        (statements / f"{split}.jsonl").write_text(json.dumps(row) + "\n")
    return photos, statements


def test_what_measures_the_domain_later_is_not_fitted_on(folders: tuple[Path, Path]) -> None:
    fitted, apart = ({int(path.stem) for path in paths} for paths in chosen(*folders, 391, 3))
    assert fitted == {image for image in range(1, 401) if image % 50 and image != 7}
    assert apart == {150, 250, 350}
    assert all(is_held_out(image) and fixes_threshold(image) for image in apart)
    assert not any(map(fixes_threshold, (100, 200, 151)))
    with pytest.raises(RecapError, match="3 photographs held out for a threshold, and 4 are needed"):
        chosen(*folders, 10, 4)


def test_photographs_are_varied_alike_every_time(of_the_page: list[Image.Image], tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.png" for number in range(3)]
    for picture, path in zip(of_the_page, paths, strict=True):
        picture.save(path)
    first, again = ([each.tobytes() for each in photographs(paths * 4, 5)] for _ in range(2))
    assert first == again
    assert len({*first}) > 6


def test_bad_input_is_one_clear_line(folders: tuple[Path, Path]) -> None:
    command = [sys.executable, "-m", "recap.photo.training.domain", "--photos", folders[0], "--statements", folders[1]]
    ran = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert ran.stderr.splitlines() == [f"{folders[0]}: 391 photographs to fit on, and 3000 are needed"]
