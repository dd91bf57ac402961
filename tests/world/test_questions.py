"""What the small models are taught: true answers to questions about pictures of the training pool."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from recap.models.llava import AFTER, PAD, words_of
from recap.models.llava import YES as YES_WORD
from recap.probes import question
from recap.world.draw import paint_scene
from recap.world.objects import things
from recap.world.sample import SceneStyle, sample
from recap.world.training import questions
from recap.world.training.questions import PAIRS, QuestionSampler, ScenePool, cell_targets, make_pool
from recap.world.training.train import TRAINING
from recap.world.training.vocabulary import vocabulary
from recap.world.truth import RELATIONS, YES, truth

FEW = SceneStyle(backgrounds=(0, 8))
COUNT = 16
# Workers are forked, and torch has threads; they compute with numpy only.
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


def pool_of(count: int = COUNT, workers: int = 1) -> ScenePool:
    return make_pool(count, TRAINING, torch.device("cpu"), FEW, workers, lambda _: None)


@pytest.fixture(scope="module")
def pool() -> ScenePool:
    return pool_of()


def test_a_pool_holds_the_scenes_of_its_seed(pool: ScenePool) -> None:
    scenes = sample(COUNT, (TRAINING, 0), FEW)
    assert pool.thing.tolist() == scenes.thing.tolist()
    wanted = [[truth(scenes, relation, *pair)[row] for pair in PAIRS for relation in RELATIONS] for row in range(COUNT)]
    assert pool.truth.tolist() == wanted


def test_a_pool_is_the_same_however_many_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "CHUNK", 4)
    one, two = pool_of(10, 1), pool_of(10, 2)
    assert len(one) == 10
    for name in ("pixels", "seen", "thing", "truth"):
        assert torch.equal(getattr(one, name), getattr(two, name))


def test_every_answer_that_is_taught_is_true(pool: ScenePool) -> None:
    scenes, names, words = sample(COUNT, (TRAINING, 0), FEW), list(things()), vocabulary()
    spelled = {number: word for word, number in words.items()}
    sampler = QuestionSampler({"plain": 1.0}, pool, 0.5, torch.Generator().manual_seed(1))
    asked = sampler.sample(torch.arange(COUNT), 24)
    met: set[tuple[str, bool]] = set()
    for row in range(COUNT):
        for k in range(24):
            length = int(asked.length[row, k])
            ids = asked.ids[row, k].tolist()
            told = [spelled[i] for i in ids[:length]]
            relation = list(RELATIONS)[int(asked.relation[row, k])]
            subject, thing = (word for word in told if word in names)
            assert told == [*words_of(question(subject, relation, thing)), *AFTER]
            places = [scenes.names(row).index(name) for name in (subject, thing)]
            yes = truth(scenes, relation, *places)[row] == YES
            assert int(asked.answer[row, k]) == ids[length]
            assert (ids[length] == words[YES_WORD]) == yes
            assert set(ids[length + 1 :]) <= {words[PAD]}
            met.add((relation, bool(yes)))
    assert len(met) > len(RELATIONS)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_yes_is_taught_as_often_as_wished(pool: ScenePool, share: float) -> None:
    sampler = QuestionSampler({"plain": 1.0}, pool, share, torch.Generator().manual_seed(2))
    asked = sampler.sample(torch.arange(COUNT).repeat(8), 8)
    yes = (asked.answer == vocabulary()[YES_WORD]).float().mean().item()
    assert yes == pytest.approx(share, abs=0.05)


def test_cells_show_what_is_seen_in_them(pool: ScenePool) -> None:
    scenes = sample(COUNT, (TRAINING, 0), FEW)
    targets = cell_targets(pool, torch.arange(COUNT)).numpy()
    cells = int(targets.shape[1] ** 0.5)
    assert targets.shape == (COUNT, cells**2, len(things()))
    for row in range(COUNT):
        nearest = paint_scene(scenes, row).nearest
        side = len(nearest) // cells
        for place, thing in enumerate(scenes.thing[row]):
            if thing < 0:
                continue
            share = (nearest == place).reshape(cells, side, cells, side).mean((1, 3)).flatten()
            found = targets[row, :, thing]
            assert found[share > 0.25].all()
            assert not found[share == 0].any()
        assert not targets[row][:, np.setdiff1d(np.arange(len(things())), scenes.thing[row])].any()
