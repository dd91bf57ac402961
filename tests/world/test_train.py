"""Training: it computes what the engine computes, and the same seed gives the same weights."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from PIL import Image
from safetensors.torch import load_file

from recap.models.contract import Request
from recap.models.llava import AFTER, NO, YES
from recap.models.load import load_model
from recap.models.local import LocalModel
from recap.world.bundled import MODELS, PREFIX
from recap.world.sample import SceneStyle
from recap.world.training import train
from recap.world.training.questions import QuestionSampler, ScenePool, make_pool
from recap.world.training.train import (
    CURRICULA,
    TRAINING,
    Curriculum,
    Learner,
    Stage,
    Training,
    rate_at,
    reproducible,
    save,
    show,
)
from recap.world.training.vocabulary import usual_groups, vocabulary

transformers.logging.set_verbosity_error()
CPU = torch.device("cpu")
# Workers are forked, and torch has threads; they compute with numpy only.
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")

TINY = Curriculum(
    "tiny", "a few steps", (Stage(steps=2, rate=1e-3, warmup=1), Stage(steps=1, rate=1e-4, yes_share=0.99)),
    scenes=32, development=8, batch=4, questions=2, long_questions=1, long_share=0.5, blind_share=0.3,
)  # fmt: skip


@pytest.fixture(scope="module")
def pool() -> ScenePool:
    return make_pool(16, TRAINING, CPU, SceneStyle(backgrounds=(0, 8)), 1, lambda _: None)


@pytest.fixture(scope="module", params=MODELS)
def engine(request: pytest.FixtureRequest) -> LocalModel:
    return load_model(PREFIX + request.param, device="cpu")


@pytest.fixture
def deterministic() -> Iterator[None]:
    """What `reproducible` sets for a whole process is put back."""
    before = torch.are_deterministic_algorithms_enabled(), torch.backends.cuda.matmul.allow_tf32
    yield
    torch.use_deterministic_algorithms(before[0])
    torch.backends.cuda.matmul.allow_tf32 = before[1]


@pytest.mark.parametrize("groups", [usual_groups(), {"constrained": 1.0}], ids=["usual", "constrained"])
@pytest.mark.parametrize("blind", [False, True], ids=["seeing", "blind"])
@torch.no_grad()
def test_training_computes_the_engines_margins(
    pool: ScenePool, engine: LocalModel, blind: bool, groups: dict[str, float]
) -> None:
    generator = torch.Generator().manual_seed(5)
    rows = torch.arange(len(pool))
    asked = QuestionSampler(groups, pool, 0.5, generator).sample(rows, 3)
    learner = Learner(engine.scorer.model).eval()
    pixels = show(pool.pixels, 0.0, generator)
    scores, _, _ = learner(pixels, asked.ids, asked.length, torch.full((len(rows),), blind))
    words = vocabulary()
    learned = scores[..., words[YES]] - scores[..., words[NO]]
    told = torch.tensor(engine.margins([request(pool, asked, row, blind) for row in rows.tolist()]))
    assert (learned - told).abs().max().item() < 1e-3
    # The check can fail: margins differ between questions and pictures by far more.
    assert learned.std().item() > 0.1


def request(pool: ScenePool, asked: Any, row: int, blind: bool) -> Request:
    """The same picture and questions, as the engine is given them."""
    spelled = {number: word for word, number in vocabulary().items()}
    questions = [
        " ".join(spelled[i] for i in ids[: int(length) - len(AFTER)])
        for ids, length in zip(asked.ids[row].tolist(), asked.length[row], strict=True)
    ]
    picture = Image.fromarray(pool.pixels[row].permute(1, 2, 0).numpy())
    return Request(None if blind else picture, tuple(questions))


def test_a_blind_question_does_not_see_the_picture(pool: ScenePool, engine: LocalModel) -> None:
    generator = torch.Generator().manual_seed(6)
    asked = QuestionSampler({"plain": 1.0}, pool, 0.5, generator).sample(torch.arange(4), 2)
    learner = Learner(engine.scorer.model).eval()
    blind = torch.tensor([True, False, True, False])
    with torch.no_grad():
        one, other = (
            learner(show(p, 0.0, generator), asked.ids, asked.length, blind)[0]
            for p in (pool.pixels[:4], pool.pixels[4:8])
        )
    changed = (one - other).abs().amax((1, 2)) > 1e-6
    assert changed.tolist() == [False, True, False, True]


@pytest.mark.slow
@pytest.mark.usefixtures("deterministic")
def test_the_same_seed_gives_the_same_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Eight backgrounds instead of thousands: painting them all takes longer than the training.
    monkeypatch.setattr(train, "SceneStyle", lambda backgrounds=(0, 0): SceneStyle(backgrounds=(backgrounds[0], 8)))
    for name, seed in (("one", 1), ("again", 1), ("other", 2)):
        reproducible(seed)
        training = Training(TINY, seed, CPU, 1, compiled=False, say=lambda _: None)
        for stage in TINY.stages:
            training.stage(stage)
        assert [entry["step"] for entry in training.curve] == [2, 3]
        save(training, tmp_path / name, seed, 1.0)
    one, again, other = (load_file(tmp_path / name / "model.safetensors") for name in ("one", "again", "other"))
    assert all(torch.equal(value, again[name]) for name, value in one.items())
    assert not all(torch.equal(value, other[name]) for name, value in one.items())
    for file in ("training.csv", "training.json"):
        assert (tmp_path / "one" / file).read_text() == (tmp_path / "again" / file).read_text()


def test_noise_and_light_are_drawn_anew_and_keep_the_picture(pool: ScenePool) -> None:
    generator = torch.Generator().manual_seed(7)
    clear, one, other = (show(pool.pixels, noise, generator) for noise in (0.0, 0.08, 0.08))
    assert not torch.equal(one, other)
    assert (one - clear).abs().mean().item() < 0.4
    assert torch.equal(clear, (pool.pixels.float() / 255 - 0.5) / 0.25)


def test_the_rate_warms_up_and_comes_down() -> None:
    stage = CURRICULA["aligned"].stages[0]
    rates = [rate_at(step, stage) for step in range(stage.steps)]
    assert rates[stage.warmup - 1] == pytest.approx(stage.rate)
    assert max(rates) == pytest.approx(stage.rate)
    assert rates[-1] == pytest.approx(stage.final * stage.rate, rel=0.01)
    assert rates[: stage.warmup] == sorted(rates[: stage.warmup])
    assert rates[stage.warmup :] == sorted(rates[stage.warmup :], reverse=True)
