from __future__ import annotations

import pickle
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import transformers

from recap.models.contract import Request
from recap.models.fp8 import Fp8Linear, use_fp8
from recap.models.layers import ReadRowsOnly, project_patches
from recap.models.layout import Layout
from recap.models.local import COMPILE_FROM, LocalModel
from recap.models.prompt import Prompter
from recap.models.scoring import Scorer
from tests.models.tiny import ARCHITECTURES, build, picture

transformers.logging.set_verbosity_error()

QUESTIONS = ("Is the mug to the left of the laptop?", "Is the cat on the table?", "Does the box contain the ball?")


@pytest.mark.parametrize("name", list(ARCHITECTURES))
def test_the_last_layer_computes_only_what_is_read(name: str) -> None:
    model, processor = build(name)
    prompter = Prompter(processor, name)
    scorer = Scorer(model, prompter)
    wrapped = [part for part in model.modules() if isinstance(part, ReadRowsOnly)]
    assert wrapped, "the decoder's last layer was not found"
    rows: list[int] = []
    for part in wrapped:
        part.part.register_forward_hook(lambda _part, given, _out: rows.append(given[0].numel() // given[0].shape[-1]))
    requests = [Request(picture(120, 90, 1), QUESTIONS), Request(picture(64, 200, 2), QUESTIONS[:2])]
    batch = scorer.ready(prompter.together(requests))
    margins = scorer.tree(batch)
    assert rows == [5] * len(wrapped)
    assert sum(map(len, batch.trees)) > 50
    whole = [[float(each) for each in scorer.plain(request)] for request in requests]
    assert max(abs(a - b) for x, y in zip(margins, whole, strict=True) for a, b in zip(x, y, strict=True)) < 1e-4


def test_a_batch_made_ready_ahead_gives_the_same_bits() -> None:
    model, processor = build("qwen3-vl-2b")
    local = LocalModel(model, processor, "tiny")
    requests = [Request(picture(120, 90, i), QUESTIONS) for i in range(3)]
    assert local.margins(requests, local.prepare(requests)) == local.margins(requests)


@torch.inference_mode()
def test_fp8_is_close_and_a_precision_of_its_own() -> None:
    torch.manual_seed(0)
    linear = torch.nn.Linear(64, 48)
    inputs = torch.randn(5, 7, 64) * torch.logspace(-3, 3, 7)[:, None]
    found, wanted = Fp8Linear(linear)(inputs), linear(inputs)
    assert found.shape == wanted.shape
    error = (found - wanted).norm(dim=-1) / wanted.norm(dim=-1)
    assert 1e-3 < float(error.median()) < 0.06  # three bits of mantissa: 1/16 at most on each number
    model, processor = build("qwen3-vl-2b")
    exact = LocalModel(model, processor, "tiny").margins([Request(picture(120, 90, 1), QUESTIONS)])[0]
    model, processor = build("qwen3-vl-2b")
    use_fp8(model)
    local = LocalModel(model, processor, "tiny")
    assert local.identity.dtype == "float32_fp8"
    assert local.way == "tree"
    rough = local.margins([Request(picture(120, 90, 1), QUESTIONS)])[0]
    assert rough != exact
    assert max(abs(a - b) for a, b in zip(rough, exact, strict=True)) < 0.5


class Recording:
    def __init__(self) -> None:
        self.said: list[str] = []

    def __call__(self, text: str) -> None:
        self.said.append(text)


def test_only_a_long_job_compiles_and_only_where_nobody_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[Any] = []
    monkeypatch.setattr("recap.models.local.compile_layers", lambda model, _lists: compiled.append(model))
    model, processor = build("qwen3-vl-2b")
    enough = int(COMPILE_FROM / 2 / sum(each.numel() for each in model.parameters())) + 1
    settled = LocalModel(model, processor, "tiny", compiling=False)
    settled.expect(enough)
    assert not compiled
    say = Recording()
    local = LocalModel(model, processor, "tiny", compiling=True, say=say)
    local.expect(enough // 2)
    assert not compiled
    local.expect(enough)
    local.expect(enough)
    assert len(compiled) == 1
    assert "compiling" in say.said[-1]


@pytest.mark.parametrize(("kind", "sides"), [(torch.nn.Conv2d, (4, 4)), (torch.nn.Conv3d, (2, 4, 4))])
@torch.inference_mode()
def test_patches_of_the_kernels_size_are_multiplied(kind: Any, sides: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    patches, whole = torch.randn(7, 3, *sides), torch.randn(2, 3, *(4 * side for side in sides))
    conv = kind(3, 10, sides, stride=sides)
    wanted = conv(patches), conv(whole)
    model = torch.nn.Sequential(conv, kind(3, 10, sides, stride=sides, padding=1), kind(3, 10, sides, stride=1))
    project_patches(model)
    assert [type(part) is kind for part in model] == [False, True, True]
    assert isinstance(conv, kind)
    found = conv(patches), conv(whole)
    for each, other in zip(found, wanted, strict=True):
        assert each.shape == other.shape
        torch.testing.assert_close(each, other)
    assert torch.equal(found[1], wanted[1]), "whole pictures are convolved as before"
    assert torch.equal(pickle.loads(pickle.dumps(model))[0](patches), found[0])


@pytest.mark.parametrize("shape", [(5, 7), (3, 1, 4), (0,), (2, 0, 4), ()])
def test_copies_to_a_gpu_go_piece_by_piece(shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    pieces: list[int] = []

    def unpinned(size: torch.Size, dtype: torch.dtype) -> torch.Tensor:
        pieces.append(size.numel())
        return torch.full(size, 9, dtype=dtype)

    monkeypatch.setattr("recap.models.layout.AT_ONCE", 4)
    monkeypatch.setattr("recap.models.layout._pinned", unpinned)
    model = SimpleNamespace(base_model_prefix="body", body=None)
    layout = Layout(model, torch.device("cpu"), torch.bfloat16, 0)
    given = torch.randn(shape)
    for tensor in (
        given,
        given.double(),
        given.transpose(0, -1) if shape else given,
        torch.ones(shape, dtype=torch.int32),
    ):
        found = layout._from_pinned(tensor)
        wanted = tensor.bfloat16() if tensor.is_floating_point() else tensor
        assert found.dtype == wanted.dtype
        assert torch.equal(found, wanted)
    assert max(pieces) <= 4


def test_a_tower_that_is_given_patches_multiplies_them() -> None:
    model, processor = build("qwen3-vl-8b")
    embeddings = [part for part in model.modules() if isinstance(part, torch.nn.Conv3d)]
    before = LocalModel(model, processor, "tiny", plain=True)
    assert [type(part) is torch.nn.Conv3d for part in embeddings] == [False]
    shown: list[torch.Size] = []
    embeddings[0].register_forward_hook(lambda part, given, _out: shown.append(given[0].shape[2:] + part.kernel_size))
    before.margins([Request(picture(120, 90, 1), QUESTIONS[:1])])
    assert all(tuple(each[:3]) == tuple(each[3:]) for each in shown)
    assert shown
