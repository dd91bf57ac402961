from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from benchmarks.pictures import SIZES, make
from torch.utils.flop_counter import FlopCounterMode

from recap.bench.arithmetic import useful_operations
from recap.bench.run import _join, _Runner, whatsup_work
from recap.bench.shapes import SHAPES, random_weights
from recap.images import image_size
from recap.models.prompt import Prompted
from recap.models.scoring import Scorer
from tests.conftest import Ran
from tests.models.tiny import picture


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for i, size in enumerate([(120, 90), (90, 120), (64, 64), (200, 50)] * 2):
        picture(*size, i).save(tmp_path / f"{i}.jpg")
    return tmp_path


def test_a_folder_of_pictures_is_timed_end_to_end(folder: Path, recap: Any) -> None:
    ran: Ran = recap("bench", "--pictures", folder, "--statements", 3, "--json", "--device", "cpu")
    found = json.loads(ran.out)
    assert found["pictures"] == 8
    assert found["sizes"] == 4
    assert found["statements"] == 24
    assert found["weights"] == "checkpoint"
    assert found["gpu_busy"] is None
    assert found["largest_difference"] < 1e-4
    assert found["ratios"]["vs_calls"] > 2
    assert 0 < found["share_of_matmul"] < 1.5


def test_pictures_are_made_of_eight_sizes_no_two_alike_and_the_same_twice(folder: Path) -> None:
    once = [(path, path.read_bytes()) for path in make(folder, folder / "made", 24)]
    again = [(path, path.read_bytes()) for path in make(folder, folder / "made", 24)]
    assert [image_size(path) for path, _ in once] == [*SIZES] * 3
    assert len({data for _, data in once}) == 24
    assert once == again, "what was made before is no photograph"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--pictures", "nowhere"], "nowhere: no such folder"),
        (["--model", "world:aligned"], "belong to --pictures"),
        (["--pictures", "{folder}", "--dtype", "fp9"], "is not a dtype"),
        (["--pictures", "{folder}", "--model", "http://localhost:1/v1#x"], "localhost"),
    ],
)
def test_what_cannot_be_timed_is_one_line(folder: Path, arguments: list[str], problem: str, recap: Any) -> None:
    ran: Ran = recap("bench", *(argument.format(folder=folder) for argument in arguments))
    assert ran.code == 2
    assert problem in ran.err
    assert len(ran.err.strip().splitlines()) == 1


def test_operations_are_those_that_torch_counts_and_attention_by_hand() -> None:
    shape, cpu = SHAPES["tiny"], torch.device("cpu")
    model = random_weights(shape.config(), cpu, torch.float32)
    prompter = SimpleNamespace(answers=((50,), (51,)), spelled=None, tokenizer=SimpleNamespace(pad_token_id=0))
    scorer = Scorer(model, prompter)  # pyright: ignore[reportArgumentType]
    prompts = whatsup_work(shape, 2)[0][:1]
    runner = _Runner(scorer, shape, prompts, 4096, cpu, torch.float32)
    batch = scorer.ready(Prompted(prompts, _join([runner.image(0)])))
    with FlopCounterMode(display=False) as counter:  # on a CPU it leaves out attention
        scorer.tree(batch)
    text, vision = model.config.text_config, model.config.vision_config
    seen = int(batch.trees[0].visible().sum())
    attention = 4 * seen * text.num_attention_heads * text.head_dim * text.num_hidden_layers
    attention += 4 * 1200**2 * vision.hidden_size * vision.depth
    assert useful_operations(scorer, batch) == pytest.approx(counter.get_total_flops() + attention, rel=1e-6)
