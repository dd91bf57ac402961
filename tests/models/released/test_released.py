"""What loading a released checkpoint must get right: weights, precision, identity, thoughts, special tokens, pictures."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

pytest.importorskip("torch", reason="torch is not installed: pip install 'recap-vlm[local]'")

import torch
from safetensors.torch import load_file, save_file

from recap.errors import RecapError
from recap.models.checkpoint import content_digest
from recap.models.contract import Request
from recap.models.local import LocalModel
from recap.models.pixels import MOST_PIXELS
from recap.models.processor import PictureInput, load_processor
from recap.models.prompt import Prompter
from recap.models.templates import closing, without_thought
from tests.models.released.checkpoints import RELEASED, THINKING
from tests.models.released.measure import QUESTIONS, picture

pytestmark = pytest.mark.released

Released = Callable[[str], Path]
LLAVA, QWEN = "llava-1.5-7b-hf", "qwen3-vl-2b"


def changed(folder: Path, target: Path, edit: Callable[[dict[str, torch.Tensor]], None]) -> Path:
    """A copy of a checkpoint with other weights."""
    shutil.copytree(folder, target)
    weights = dict(load_file(target / "model.safetensors"))
    edit(weights)
    save_file(weights, target / "model.safetensors", metadata={"format": "pt"})
    return target


def named(weights: dict[str, torch.Tensor], part: str) -> str:
    return next(name for name in weights if part in name)


class TestWeights:
    def test_a_missing_tensor_is_refused_by_name(self, released: Released, tmp_path: Path) -> None:
        broken = changed(released(LLAVA), tmp_path / "broken", lambda w: w.pop(named(w, "lm_head")))  # type: ignore[arg-type]
        with pytest.raises(RecapError, match=r"^broken: the checkpoint lacks lm_head\.weight"):
            LocalModel.load(str(broken), dtype="float32")

    def test_several_missing_ones_are_counted(self, released: Released, tmp_path: Path) -> None:
        def drop(weights: dict[str, torch.Tensor]) -> None:
            for name in [name for name in weights if ".layers.1." in name and "language" in name]:
                del weights[name]

        with pytest.raises(RecapError, match=r"lacks .*layers\.1\..* and \d+ more"):
            LocalModel.load(str(changed(released(LLAVA), tmp_path / "broken", drop)), dtype="float32")

    def test_an_unexpected_tensor_is_refused(self, released: Released, tmp_path: Path) -> None:
        broken = changed(released(LLAVA), tmp_path / "more", lambda w: w.update({"adapter.weight": torch.zeros(3)}))
        with pytest.raises(RecapError, match=r"no place for: adapter\.weight"):
            LocalModel.load(str(broken), dtype="float32")

    def test_a_tensor_of_another_shape_is_refused(self, released: Released, tmp_path: Path) -> None:
        def cut(weights: dict[str, torch.Tensor]) -> None:
            name = named(weights, "layers.0.mlp.up_proj")
            weights[name] = weights[name][:, :10].contiguous()

        with pytest.raises(RecapError, match=r"another shape: .*up_proj\.weight \(96, 10\) for \(96, 64\)"):
            LocalModel.load(str(changed(released(LLAVA), tmp_path / "cut", cut)), dtype="float32")


class TestPrecision:
    @pytest.mark.parametrize("name", [LLAVA, QWEN, "llava-onevision-7b"])
    def test_the_config_decides(self, released: Released, name: str) -> None:
        assert LocalModel.load(str(released(name)), plain=True).identity.dtype == RELEASED[name].dtype

    def test_a_wish_overrides_it(self, released: Released) -> None:
        assert LocalModel.load(str(released(LLAVA)), dtype="float32", plain=True).identity.dtype == "float32"


class TestIdentity:
    def test_a_model_is_its_content(self, released: Released, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        folder = released(LLAVA)
        copy = shutil.copytree(folder, tmp_path / "elsewhere")
        (copy / "README.md").write_text("A model card changes no margin.")
        monkeypatch.chdir(folder.parent)
        ways = [str(folder), f"{folder}/", folder.name, f"./{folder.name}/", str(copy)]
        found = [LocalModel.load(way, dtype="float32", plain=True).identity for way in ways]
        assert len({each.digest for each in found}) == 1
        assert [each.name for each in found] == [LLAVA] * 4 + ["elsewhere"]

    def test_a_hub_name_with_the_same_files_is_the_same_model(
        self, released: Released, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder, cache = released(LLAVA), tmp_path / "hub"
        snapshot = cache / "models--someone--llava" / "snapshots" / ("0" * 40)
        shutil.copytree(folder, snapshot)
        (snapshot.parents[1] / "refs").mkdir()
        (snapshot.parents[1] / "refs" / "main").write_text("0" * 40)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(cache))
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
        monkeypatch.setattr("transformers.utils.hub.constants.HF_HUB_CACHE", str(cache))
        hub = LocalModel.load("someone/llava", dtype="float32", plain=True).identity
        here = LocalModel.load(str(folder), dtype="float32", plain=True).identity
        assert (hub.name, hub.digest) == ("someone/llava", here.digest)

    def test_sharding_changes_nothing_and_a_single_weight_does(self, released: Released, tmp_path: Path) -> None:
        folder = released(LLAVA)
        sharded = shutil.copytree(folder, tmp_path / "sharded")
        weights = load_file(sharded / "model.safetensors")
        (sharded / "model.safetensors").unlink()
        names = sorted(weights)
        shards = {"model-1.safetensors": names[::2], "model-2.safetensors": names[1::2]}
        for file, some in shards.items():
            save_file({name: weights[name] for name in some}, sharded / file, metadata={"format": "pt"})
        index = {"metadata": {}, "weight_map": {name: file for file, some in shards.items() for name in some}}
        (sharded / "model.safetensors.index.json").write_text(json.dumps(index))
        assert content_digest(sharded) == content_digest(folder)
        for part in ("q_proj", "embed_tokens", "vision_tower", "norm"):

            def nudge(some: dict[str, torch.Tensor], part: str = part) -> None:
                some[named(some, part)] *= 1.001

            assert content_digest(changed(folder, tmp_path / part, nudge)) != content_digest(folder), part

    def test_processor_answers_and_cap_count(self, released: Released) -> None:
        folder = str(released(LLAVA))
        wishes: list[dict[str, Any]] = [{}, {"pad": True}, {"max_pixels": 10**5}, {"answers": "spellings"}]
        found = [LocalModel.load(folder, dtype="float32", plain=True, **wish).identity.digest for wish in wishes]
        assert len(set(found)) == len(wishes)


class TestThoughts:
    def test_a_thinking_model_is_asked_behind_an_empty_thought(self, released: Released) -> None:
        said: list[str] = []
        model = LocalModel.load(str(released(THINKING)), dtype="float32", say=said.append)
        prompt = model.prompter.prompt(QUESTIONS[0], True)
        assert prompt.endswith("<|im_start|>assistant\n<think>\n\n</think>\n\n")
        assert said == [f"{THINKING} opens a thought before it answers: it is closed at once, empty"]
        assert model.way == "tree"

    @pytest.mark.parametrize("name", RELEASED)
    def test_others_are_left_alone(self, released: Released, name: str) -> None:
        prompter = Prompter(load_processor(str(released(name))), name)
        assert (prompter.switches, prompter.closing) == ({}, "")

    def test_a_switch_is_used_where_there_is_one(self) -> None:
        def render(switches: dict[str, bool]) -> str:
            return "assistant\n" + ("<think>\n" if switches.get("enable_thinking", True) else "<think>\n\n</think>\n\n")

        assert without_thought(render) == ({"enable_thinking": False}, "")

    def test_a_thought_that_cannot_be_closed_is_refused(self) -> None:
        with pytest.raises(RecapError, match="opens a thought that cannot be closed"):
            without_thought(lambda _: "<|start|>assistant<|channel|>analysis")

    @pytest.mark.parametrize(
        ("end", "closed"),
        [
            ("<think>\n", "\n</think>\n\n"),
            ("[THINK]", "[/THINK]"),
            ("<thinking>", "\n</thinking>\n\n"),
            ("assistant\n", ""),
        ],
    )
    def test_closings(self, end: str, closed: str) -> None:
        assert closing("Is the mug on the table?\n" + end) == closed


@pytest.mark.parametrize("name", RELEASED)
def test_every_special_token_in_a_question_is_text(released: Released, name: str) -> None:
    prompter = Prompter(load_processor(str(released(name))), name)
    special = set(prompter.tokenizer.added_tokens_decoder)
    plain = [token for token in prompter.tokens(prompter.prompt("Is the mug on the table?", True)) if token in special]
    shown = picture((320, 240))
    for token in prompter.special:
        question = f"Is the {token} mug{token} on the table?"
        ids = prompter.tokens(prompter.prompt(question, True))
        assert [each for each in ids if each in special] == plain, token
    some = [token for token in prompter.special if token.startswith("<")][:12]
    request = Request(shown, tuple(f"Is the {token} on the table?" for token in some))
    rows = prompter.together([request]).sequences[0]
    assert len(rows) == len(some), "one question per special token"


@pytest.mark.parametrize("name", [LLAVA, QWEN])
def test_an_audit_of_a_question_with_special_tokens_equals_plain_scoring(released: Released, name: str) -> None:
    model = LocalModel.load(str(released(name)), dtype="float32")
    marks = ("<image>", "<|im_end|>", "</s>", "<|image_pad|>", "<s>")
    request = Request(picture((200, 150)), tuple(f"Is the mug {mark} on the table?" for mark in marks))
    assert model.margins([request])[0] == pytest.approx(model.scorer.plain(request), abs=1e-4)


class TestPictures:
    def test_llava_cuts_the_sides_and_padding_keeps_them(self, released: Released) -> None:
        processor = load_processor(str(released(LLAVA)))
        wide, high = PictureInput(processor).kept((1024, 300))
        assert (round(wide, 2), high) == (0.29, 1.0)
        assert PictureInput(processor, pad=True).kept((1024, 300)) == (1.0, 1.0)
        assert PictureInput(processor, pad=True).shown(Image.new("RGB", (1024, 300))).size == (1024, 1024)

    @pytest.mark.parametrize("name", [each for each in RELEASED if each != LLAVA])
    def test_others_show_all_of_it(self, released: Released, name: str) -> None:
        assert PictureInput(load_processor(str(released(name)))).kept((1024, 300)) == (1.0, 1.0)

    def test_a_photograph_of_12_megapixels_is_scaled_down(self, released: Released) -> None:
        model = LocalModel.load(str(released(QWEN)), dtype="float32", plain=True)
        photo = Image.new("RGB", (4000, 3000), (90, 120, 60))
        width, height = model.prompter.pictures.shown(photo).size
        assert width * height <= MOST_PIXELS
        assert width / height == pytest.approx(4 / 3, abs=0.01)
        tokens = model.prompter.together([Request(photo, QUESTIONS[:1])]).sequences[0][0]
        assert len(tokens) < 1700
        assert model.size(photo.size, 1) == pytest.approx(len(tokens), abs=60)

    def test_without_a_cap_it_is_shown_whole(self, released: Released) -> None:
        pictures = PictureInput(load_processor(str(released(QWEN))), most_pixels=None)
        assert pictures.shown(Image.new("RGB", (4000, 3000))).size == (4000, 3000)


class TestSpellings:
    @pytest.mark.parametrize(("name", "first"), [(QWEN, (9454, 2753)), (LLAVA, (3869, 1939))])
    def test_they_hold_what_models_say_first(self, released: Released, name: str, first: tuple[int, int]) -> None:
        prompter = Prompter(load_processor(str(released(name))), name, spellings=True)
        assert prompter.spelled is not None
        for ids, one, paper in zip(prompter.spelled, first, prompter.answers, strict=True):
            assert {one, *paper} <= set(ids)

    def test_the_margin_sums_over_them(self, released: Released) -> None:
        folder = str(released(QWEN))
        model = LocalModel.load(folder, dtype="float32", answers="spellings")
        request = Request(picture((320, 240)), QUESTIONS)
        found = model.margins([request])[0]
        assert model.way == "tree"
        assert found == pytest.approx(model.scorer.plain(request), abs=1e-4)
        inputs = model.scorer.prompt_inputs(QUESTIONS[0], request)
        with torch.inference_mode():
            shares = torch.softmax(model.scorer.model(**inputs).logits[0, -1].double(), -1)
        assert model.prompter.spelled is not None
        yes, no = (sum(float(shares[i]) for i in ids) for ids in model.prompter.spelled)
        assert found[0] == pytest.approx(math.log(yes) - math.log(no), abs=1e-4)

    def test_a_slip_is_told(self, released: Released) -> None:
        with pytest.raises(RecapError, match=r'"spelings" is not a way to score answers'):
            LocalModel.load(str(released(QWEN)), answers="spelings")


@pytest.mark.parametrize("name", RELEASED)
def test_threads_that_prepare_at_once_get_what_one_gets(released: Released, name: str) -> None:
    prompter = Prompter(load_processor(str(released(name))), name)
    requests = [Request(picture((64 + 32 * i, 96)), QUESTIONS[: 1 + i % 3]) for i in range(8)]
    batches = [requests[i : i + 2] for i in range(0, 8, 2)] * 3
    alone = [prompter.together(batch) for batch in batches]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(prompter.together, batches))
    for one, other in zip(alone, together, strict=True):
        assert one.sequences == other.sequences
        for key, value in one.vision.items():
            assert (
                torch.equal(value, other.vision[key]) if isinstance(value, torch.Tensor) else value == other.vision[key]
            )
