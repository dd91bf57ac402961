"""Pictures: the same from the same seed, at every size, and from both painters."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image

from recap.errors import RecapError
from recap.world.backgrounds import background, draw_background
from recap.world.benchmarks import ELSEWHERE, USUAL, benchmark
from recap.world.draw import BACK, FRONT, MODEL_SIZE, PEOPLE_SIZE, WHOLE, draw, order_of, paint_scene
from recap.world.sample import SceneStyle, sample
from recap.world.scene import FIRST, NOTHING, PLACES, SECOND, Kind, Link, Scenes
from recap.world.scheme import open_image, picture_name
from recap.world.training.batched import Painter

FEW = SceneStyle(backgrounds=(0, 8))
COUNT = 4 * len(Kind)


def drawn(setting: SceneStyle = FEW, seed: int = 9) -> Scenes:
    return sample(COUNT, seed, setting, kind=np.arange(COUNT) % len(Kind))


def shares(picture: Image.Image) -> np.ndarray:
    return np.asarray(picture, np.float64) / 255


@pytest.fixture(scope="module")
def batch() -> tuple[torch.Tensor, torch.Tensor]:
    return Painter("cpu", FEW.backgrounds).paint(drawn())


def test_the_same_seed_gives_the_same_bytes() -> None:
    one, again, other = drawn(seed=3), drawn(seed=3), drawn(seed=4)
    for row in range(len(Kind)):
        assert draw(one, row).tobytes() == draw(again, row).tobytes()
        assert draw(one, row).tobytes() != draw(other, row).tobytes()


def test_one_scene_of_many_is_painted_as_it_is_alone() -> None:
    scenes = drawn()
    assert draw(scenes.take(slice(5, 6))).tobytes() == draw(scenes, 5).tobytes()


@pytest.mark.parametrize("setting", [FEW, USUAL, ELSEWHERE], ids=["few", "usual", "elsewhere"])
def test_models_and_people_see_the_same_scene(setting: SceneStyle) -> None:
    scenes = drawn(setting)
    for row in range(len(Kind)):
        small = shares(draw(scenes, row, MODEL_SIZE, noise=False))
        large = draw(scenes, row, PEOPLE_SIZE).resize((MODEL_SIZE, MODEL_SIZE), Image.Resampling.BOX)
        assert np.abs(small - shares(large)).mean() < 0.01
        # The check can fail: pictures of different scenes are many times as far apart.
        another = shares(draw(scenes, row + 1, MODEL_SIZE, noise=False))
        assert np.abs(another - shares(large)).mean() > 0.02


def test_noise_is_part_of_a_models_picture_and_not_of_a_persons() -> None:
    scenes = drawn(ELSEWHERE)
    assert draw(scenes, 0).tobytes() == draw(scenes, 0, noise=True).tobytes() != draw(scenes, 0, noise=False).tobytes()
    assert draw(scenes, 0, 192).tobytes() == draw(scenes, 0, 192, noise=False).tobytes()
    grain = shares(draw(scenes, 0)) - shares(draw(scenes, 0, noise=False))
    assert grain.std() == pytest.approx(scenes.noise[0], rel=0.25)


def test_what_is_far_is_painted_before_what_is_near() -> None:
    scenes = drawn()
    order, sides = order_of(scenes)
    for row in np.flatnonzero((scenes.holder == NOTHING).all(1)):
        places = [place for place in order[row] if place != NOTHING]
        assert sorted(places) == np.flatnonzero(scenes.present[row]).tolist()
        depths = scenes.depth[row, places]
        assert (np.diff(depths) <= 0).all()
        assert set(sides[row][order[row] != NOTHING]) == {WHOLE}


@pytest.mark.parametrize("link", [Link.ON, Link.UNDER])
def test_what_is_held_is_painted_after_its_holder(link: Link) -> None:
    scenes = drawn()
    rows = np.flatnonzero(scenes.link[:, FIRST] == link)
    assert len(rows) > 0
    for row in rows:
        places = order_of(scenes)[0][row].tolist()
        assert places.index(SECOND) + 1 == places.index(FIRST)


def test_a_containers_near_wall_is_painted_after_what_lies_in_it() -> None:
    scenes = drawn()
    rows = np.flatnonzero(scenes.kind == Kind.INSIDE)
    order, sides = order_of(scenes)
    for row in rows:
        layers = list(zip(order[row].tolist(), sides[row].tolist(), strict=True))
        back, content, wall = (layers.index(each) for each in ((SECOND, BACK), (FIRST, WHOLE), (SECOND, FRONT)))
        assert back + 1 == content == wall - 1


def test_masks_hold_the_whole_of_each_thing_and_nearest_what_is_seen_of_it() -> None:
    scenes = drawn()
    for row in range(COUNT):
        painting = paint_scene(scenes, row)
        covered = painting.masks.any(0)
        assert ((painting.nearest != NOTHING) == covered).all()
        for place in range(PLACES):
            assert painting.masks[place].any() == scenes.present[row, place]
            assert painting.masks[place][painting.nearest == place].all()
        hidden = painting.masks[SECOND] & (painting.nearest == FIRST)
        if scenes.kind[row] in (Kind.ON, Kind.INSIDE):
            assert hidden.any()


def test_the_batched_painter_paints_the_same_pictures(batch: tuple[torch.Tensor, torch.Tensor]) -> None:
    scenes = drawn()
    for row in range(COUNT):
        painted = batch[0][row].permute(1, 2, 0).numpy() / 255
        assert np.abs(painted - paint_scene(scenes, row).pixels).mean() < 0.01
        bare = draw_background(background(int(scenes.background[row])), MODEL_SIZE)
        assert np.abs(painted - bare).mean() > 0.01


def test_the_batched_painter_sees_the_same_things_in_the_same_cells(batch: tuple[torch.Tensor, torch.Tensor]) -> None:
    scenes = drawn()
    cells = batch[1].shape[-1]
    step = MODEL_SIZE // cells
    for row in range(COUNT):
        nearest = paint_scene(scenes, row).nearest
        for place in range(PLACES):
            share = (nearest == place).reshape(cells, step, cells, step).mean((1, 3))
            assert np.abs(batch[1][row, place].numpy() / 255 - share).max() < 0.2


def test_batched_pictures_do_not_depend_on_the_batch(batch: tuple[torch.Tensor, torch.Tensor]) -> None:
    alone = Painter("cpu", FEW.backgrounds).paint(drawn().take(slice(7, 9)))
    assert torch.equal(alone[0], batch[0][7:9])


def test_a_picture_by_name_is_the_benchmarks_picture() -> None:
    assert picture_name("gsr", 17) == "world:gsr/0017"
    assert open_image("world:gsr/0017").tobytes() == draw(benchmark("gsr").scenes, 17).tobytes()
    assert open_image("world:gsr/0017", 200).size == (200, 200)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("world:grs/0001", 'did you mean "world:gsr"'),
        ("world:gsr/0544", "world:gsr/0000 to 0543"),
        ("world:gsr", "world:gsr/0000 to 0543"),
    ],
)
def test_a_wrong_name_is_told_which_ones_there_are(name: str, told: str) -> None:
    with pytest.raises(RecapError, match=told):
        open_image(name)
