"""What the model for photographs takes for its own; `python -m benchmarks.domain` measures it at length."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image, ImageEnhance, ImageOps

from recap.errors import RecapError
from recap.models.domain import Domain, load_domain
from recap.models.domain.features import picture_features
from recap.models.domain.pictures import compressed
from recap.models.local import LocalModel
from recap.photo.bundled import MODELS, checkpoint_folder
from recap.photo.things import number_of
from recap.photo.tower import BACKBONES, PhotoTower, PhotoTowerConfig
from recap.photo.training.annotations import is_held_out
from recap.photo.training.domain import chosen, fixes_threshold, photographs, varied
from recap.world.benchmarks import BENCHMARKS, benchmark
from recap.world.draw import MODEL_SIZE, PEOPLE_SIZE, draw
from recap.world.training import domain as of_scenes
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
    return float((domain.strangeness(picture_features(model, pictures, domain.layers, domain.statistics)) > 1).mean())


def test_photographs_of_the_page_are_its_own(own: Own, of_the_page: list[Image.Image]) -> None:
    assert len(of_the_page) == 3
    assert refused(own, of_the_page) == 0


def test_in_another_shape_light_or_compression_they_stay_its_own(own: Own, of_the_page: list[Image.Image]) -> None:
    rng = np.random.default_rng(99)
    assert refused(own, [varied(picture, rng) for picture in of_the_page for _ in range(10)]) <= 0.05


@pytest.mark.parametrize("folder", ["photos", "whatsup/images"])
def test_photographs_of_the_benchmarks_are_its_own(own: Own, folder: str) -> None:
    """What'sUp's, of a mug on an empty table, are composed as drawn scenes are."""
    files = [path for path in sorted((DATA / folder).rglob("*.jp*g")) if path.is_file()]
    if not files:
        pytest.skip("no photographs: $RECAP_TEST_DATA names a folder that has some")
    assert refused(own, [Image.open(path).convert("RGB") for path in files]) <= 0.05


def test_photographs_that_fared_badly_stay_its_own(own: Own, of_the_page: list[Image.Image]) -> None:
    """In ways that nothing was fitted on: darker, brighter, of one colour, far more compressed, smaller, a part only."""
    several: list[Image.Image] = []
    for picture in of_the_page:
        width, height = picture.size
        several += [
            compressed(picture, 30),
            compressed(picture.convert("L").convert("RGB"), 80),
            ImageEnhance.Brightness(picture).enhance(0.5),
            ImageEnhance.Brightness(picture).enhance(1.5),
            picture.resize((120, 90)),
            picture.crop((width // 4, height // 4, width * 3 // 4, height * 3 // 4)),
            ImageOps.mirror(picture).resize((1600, 1200)),
        ]
    assert refused(own, several) <= 1 / len(several)


def test_drawn_scenes_are_refused(own: Own) -> None:
    shown = ((3, MODEL_SIZE), (40, PEOPLE_SIZE), (77, 320))
    drawn = [draw(benchmark(name).scenes, row, size) for name in BENCHMARKS for row, size in shown]
    assert refused(own, drawn) >= 0.95


def test_drawn_scenes_are_refused_though_scaled_relit_and_compressed(own: Own) -> None:
    rng = np.random.default_rng(41)
    drawn = [of_scenes.varied(benchmark(name).scenes, row, rng) for name in BENCHMARKS for row in range(5, 60, 5)]
    assert refused(own, drawn) >= 0.85


@pytest.mark.parametrize("backbone", BACKBONES)
def test_maps_are_made_as_they_are_asked_for_and_are_those_of_a_forward(backbone: str) -> None:
    torch.manual_seed(0)
    tower = PhotoTower(PhotoTowerConfig(backbone=backbone)).eval()
    with torch.inference_mode():
        pixels = torch.rand(1, 3, 256, 256) * 2 - 1
        maps, states = list(tower.maps(pixels)), tower(pixels).hidden_states
    assert len(maps) == tower.map_count
    assert all(torch.equal(a, b) for a, b in zip(maps[::-1], states[-2::-1], strict=False))
    if backbone == "efficientnet_lite2":
        assert [each.shape[1] for each in maps] == [128**2, 64**2, 32**2, 16**2, 8**2]


def test_a_map_that_the_tower_has_not_is_one_clear_line(own: Own, of_the_page: list[Image.Image]) -> None:
    with pytest.raises(RecapError, match=r"the vision tower has maps 0 to 4, and not all of \[0, 5\]"):
        picture_features(own[0], of_the_page, (0, 5))


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
