"""The bundled models: published LLaVA checkpoints in small, which transformers and the engine load and run as such."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from safetensors import safe_open

from recap.errors import RecapError
from recap.models.llava import EOS, NO, YES
from recap.models.load import load_model
from recap.models.local import LocalModel
from recap.probes import question
from recap.world.benchmarks import benchmark
from recap.world.bundled import MODELS, PREFIX, checkpoint_folder, policy_file
from recap.world.scheme import open_image
from recap.world.training.checkpoint import FILES, build, write_checkpoint
from recap.world.training.vocabulary import vocabulary

transformers.logging.set_verbosity_error()

PUBLISHED = (
    r"vision_tower\.vision_model\.(embeddings|encoder|pre_layrnorm|post_layernorm)\..+",
    r"multi_modal_projector\.linear_[12]\.(weight|bias)",
    r"language_model\.model\.(embed_tokens|layers\.\d+|norm)\..+",
    r"language_model\.lm_head\.weight",
)
"""the names of llava-hf/llava-1.5-7b-hf's weights, written before transformers moved them about"""

bundled = pytest.mark.parametrize("name", MODELS)


@pytest.fixture(scope="module", params=MODELS)
def loaded(request: pytest.FixtureRequest) -> tuple[Any, Any, dict[str, Any]]:
    """Model, processor, and what transformers says about its loading."""
    folder = checkpoint_folder(request.param)
    model, told = transformers.AutoModelForImageTextToText.from_pretrained(
        folder, dtype=torch.float32, output_loading_info=True
    )
    return model.eval(), transformers.AutoProcessor.from_pretrained(folder), told


@bundled
def test_weights_have_their_published_names_in_half_precision(name: str) -> None:
    with safe_open(checkpoint_folder(name) / "model.safetensors", "pt") as weights:
        names = list(weights.keys())
        assert all(any(re.fullmatch(pattern, each) for pattern in PUBLISHED) for each in names)
        assert {k for k, pattern in enumerate(PUBLISHED) if any(re.fullmatch(pattern, n) for n in names)} == {
            0,
            1,
            2,
            3,
        }
        assert {weights.get_slice(each).get_dtype() for each in names} == {"F16"}


@bundled
def test_a_checkpoint_is_small(name: str) -> None:
    folder = checkpoint_folder(name)
    with safe_open(folder / "model.safetensors", "pt") as weights:
        count = sum(int(np.prod(weights.get_slice(each).get_shape())) for each in weights.keys())  # noqa: SIM118
    assert 4e6 < count < 8e6
    assert (folder / "model.safetensors").stat().st_size <= 15e6
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) <= 15e6


def test_every_weight_finds_its_place_in_transformers(loaded: tuple[Any, Any, dict[str, Any]]) -> None:
    model, processor, told = loaded
    assert type(model) is transformers.LlavaForConditionalGeneration
    assert isinstance(processor, transformers.LlavaProcessor)
    for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        assert not told[kind], kind


def test_it_answers_yes_or_no_and_stops(loaded: tuple[Any, Any, dict[str, Any]]) -> None:
    model, processor, _ = loaded
    words = vocabulary()
    given = benchmark("development")
    answers: set[int] = set()
    for said in given.statements[::37]:
        asked = question(said.subject, said.relation, said.object)
        content = [{"type": "image"}, {"type": "text", "text": asked}]
        text = processor.apply_chat_template([{"role": "user", "content": content}], add_generation_prompt=True)
        picture = open_image(f"world:development/{said.picture:04d}")
        inputs = processor(text=text, images=picture, return_tensors="pt", add_special_tokens=False)
        new = model.generate(**inputs, do_sample=False)[0, inputs["input_ids"].shape[1] :].tolist()
        assert len(new) == 2
        assert new[0] in (words[YES], words[NO])
        assert new[1] == words[EOS]
        answers.add(new[0])
    assert answers == {words[YES], words[NO]}


@bundled
def test_the_engine_reads_it_by_token_tree(name: str) -> None:
    model = load_model(PREFIX + name)
    assert isinstance(model, LocalModel)
    assert model.way == "tree"
    assert model.difference is not None
    assert model.difference < 1e-3
    assert model.identity.name == PREFIX + name
    assert model.identity.dtype == "float32"
    words = vocabulary()
    assert model.identity.answers == ((words[YES],), (words[NO],))


@bundled
def test_each_model_brings_a_policy(name: str) -> None:
    assert policy_file(PREFIX + name).is_file()


def test_an_unknown_model_is_told_which_ones_there_are() -> None:
    with pytest.raises(RecapError, match="world:aligned, world:biased"):
        checkpoint_folder("world:alinged")


def test_what_is_written_is_what_is_loaded(tmp_path: Any) -> None:
    model = build(3)
    write_checkpoint(model, tmp_path)
    again, told = transformers.AutoModelForImageTextToText.from_pretrained(
        tmp_path, dtype=torch.float32, output_loading_info=True
    )
    assert not told["missing_keys"] | told["unexpected_keys"]
    written = {name: value.half().float() for name, value in model.state_dict().items()}
    assert written.keys() == again.state_dict().keys()
    assert all(torch.equal(written[name], value) for name, value in again.state_dict().items())
    for file in FILES:
        assert (tmp_path / file).read_text() == (checkpoint_folder("world:aligned") / file).read_text(), file
    assert isinstance(transformers.AutoProcessor.from_pretrained(tmp_path), transformers.LlavaProcessor)
