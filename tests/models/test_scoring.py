"""The token tree against plain scoring, on small random-weight models of the real architectures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers

from recap.errors import RecapError
from recap.models.contract import Request
from recap.models.local import LocalModel
from recap.models.prompt import Prompter
from recap.models.scoring import Scorer
from tests.models.tiny import ARCHITECTURES, build, picture

transformers.logging.set_verbosity_error()

QUESTIONS = (
    "Is the mug to the left of the laptop?",
    "Is the mug to the right of the laptop?",
    "Is the laptop to the left of the mug?",
    "Does the box contain the ball?",
    "Is the cat on the table?",
)
SINGLE, SEVERAL = (" yes", " no"), (" yes indeed", " no way at all")


@pytest.fixture(scope="module", params=list(ARCHITECTURES))
def built(request: pytest.FixtureRequest) -> tuple[str, Any, Any]:
    return (request.param, *build(request.param))


def worst(one: list[list[float]], other: list[list[float]]) -> float:
    return max(abs(a - b) for x, y in zip(one, other, strict=True) for a, b in zip(x, y, strict=True))


@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")  # FlexAttention imports what torch itself deprecates
@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")  # on a CPU it is only checked
@pytest.mark.parametrize("packed", [False, True], ids=["padded", "packed"])
@pytest.mark.parametrize("answers", [SINGLE, SEVERAL], ids=["single", "several"])
def test_tree_equals_plain_with_images_of_different_sizes(
    built: tuple[str, Any, Any], answers: tuple[str, str], packed: bool
) -> None:
    name, model, processor = built
    prompter = Prompter(processor, name, answers)
    scorer = Scorer(model, prompter, packed=packed)
    assert scorer.single == (answers == SINGLE)
    requests = [
        Request(picture(120, 90, 1), QUESTIONS),
        Request(picture(64, 200, 2), QUESTIONS[1:4]),
        Request(picture(300, 170, 3), QUESTIONS[:1]),
    ]
    tree = scorer.tree(prompter.together(requests))
    assert worst(tree, [scorer.plain(request) for request in requests]) < 1e-4
    # The check must be able to fail: the pictures and the questions really make a difference.
    assert len({round(margin, 3) for margins in tree for margin in margins}) == 9


@pytest.mark.parametrize("answers", [SINGLE, SEVERAL], ids=["single", "several"])
def test_tree_equals_plain_without_an_image(built: tuple[str, Any, Any], answers: tuple[str, str]) -> None:
    name, model, processor = built
    prompter = Prompter(processor, name, answers)
    scorer = Scorer(model, prompter)
    request = Request(None, QUESTIONS)
    assert worst(scorer.tree(prompter.together([request])), [scorer.plain(request)]) < 1e-4


def test_ids_of_later_questions_are_the_processors_own(built: tuple[str, Any, Any]) -> None:
    name, _, processor = built
    prompter = Prompter(processor, name)
    image = picture(130, 75, 4)
    [derived] = prompter.together([Request(image, QUESTIONS)]).sequences
    for question, ids in zip(QUESTIONS, derived, strict=True):
        assert prompter.encode([prompter.prompt(question, True)], [image])["input_ids"][0].tolist() == ids


def test_a_wrong_mask_would_show(built: tuple[str, Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    from recap.models import tree as trees

    name, model, processor = built
    monkeypatch.setattr(trees.Tree, "visible", lambda self: np.tri(len(self), dtype=bool))
    prompter = Prompter(processor, name)
    scorer = Scorer(model, prompter)
    request = Request(picture(120, 90, 1), QUESTIONS)
    assert worst(scorer.tree(prompter.together([request])), [scorer.plain(request)]) > 1e-3


def test_the_self_check_decides_how_a_model_is_scored(
    built: tuple[str, Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from recap.models import tree as trees

    name, model, processor = built
    told: list[str] = []
    good = LocalModel(model, processor, name, say=told.append)
    assert (good.way, told) == ("tree", [])
    monkeypatch.setattr(trees.Tree, "visible", lambda self: np.tri(len(self), dtype=bool))
    bad = LocalModel(model, processor, name, say=told.append)
    assert bad.way == "plain"
    assert told[0].startswith("scored plainly: in the self-check the token tree was off by")


def test_bf16_differs_by_rounding_only(built: tuple[str, Any, Any], record_property: Any) -> None:
    name, _, processor = built
    half = build(name)[0].to(torch.bfloat16)
    prompter = Prompter(processor, name)
    scorer = Scorer(half, prompter)
    request = Request(picture(120, 90, 1), QUESTIONS)
    difference = worst(scorer.tree(prompter.together([request])), [scorer.plain(request)])
    record_property("bf16_difference", difference)
    assert difference < 0.1
    assert LocalModel(half, processor, name).way == "tree"


def test_a_wrong_mask_is_found_in_bf16_too(built: tuple[str, Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    from recap.models import tree as trees

    name, _, processor = built
    half = build(name)[0].to(torch.bfloat16)
    monkeypatch.setattr(trees.Tree, "visible", lambda self: np.tri(len(self), dtype=bool))
    assert LocalModel(half, processor, name).way == "plain"


def test_out_of_memory_halves_the_batch(built: tuple[str, Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    name, model, processor = built
    local = LocalModel(model, processor, name)
    requests = [Request(picture(120, 90, i), QUESTIONS[:3]) for i in range(3)]
    whole = local.margins(requests)
    real = local.scorer.tree

    def small_only(prompted: Any) -> list[list[float]]:
        if sum(len(tree.ends) for tree in prompted.trees) > 2:
            raise torch.OutOfMemoryError
        return real(prompted)

    monkeypatch.setattr(local.scorer, "tree", small_only)
    assert worst(local.margins(requests), whole) < 1e-4

    def never(prompted: Any) -> list[list[float]]:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(local.scorer, "tree", never)
    with pytest.raises(RecapError, match=r"out of memory on \"Is the mug to the left of the laptop\?\" alone"):
        local.margins(requests)


def test_a_model_without_a_chat_template_is_refused() -> None:
    _, processor = build("llava-1.5")
    processor.chat_template = None
    with pytest.raises(RecapError, match="the model has no chat template"):
        Prompter(processor, "mute")


def test_a_processor_that_drops_the_image_is_refused() -> None:
    model, processor = build("llava-1.5")

    class Blind:
        tokenizer, chat_template = processor.tokenizer, processor.chat_template
        apply_chat_template = staticmethod(processor.apply_chat_template)

        def __call__(self, text: list[str], **_: Any) -> dict[str, Any]:
            return dict(processor.tokenizer(text, return_tensors="pt", padding=True))

    with pytest.raises(RecapError, match="the processor drops the image"):
        LocalModel(model, Blind(), "blind")


def test_the_identity_covers_what_can_change_a_margin() -> None:
    model, processor = build("llava-1.5")
    one = LocalModel(model, processor, "m", "r").identity
    others = [
        LocalModel(model, processor, "m", "r2").identity,
        LocalModel(model, processor, "m", "r", plain=True).identity,
        LocalModel(model, processor, "m", "r", answers=(" no", " yes")).identity,
        LocalModel(build("llava-1.5")[0].to(torch.bfloat16), processor, "m", "r").identity,
    ]
    processor.chat_template = processor.chat_template.replace("assistant", "ASSISTANT")
    others.append(LocalModel(model, processor, "m", "r").identity)
    assert len({one.digest, *(other.digest for other in others)}) == 6


def test_what_a_model_is_called_changes_nothing() -> None:
    model, processor = build("llava-1.5")
    one, other = (LocalModel(model, processor, name, "r").identity for name in ("m", "n"))
    assert one.digest == other.digest
    unknown, named = (LocalModel(model, processor, name).identity for name in ("m", "n"))
    assert unknown.digest != named.digest, "without a revision the name is all there is"


@pytest.mark.parametrize("name", ["smolvlm", "gemma3"])
def test_other_architectures_are_scored_by_the_same_code(name: str) -> None:
    """Whichever way the self-check lets them go, the margins are those of plain scoring."""
    model, processor = build(name)
    told: list[str] = []
    local = LocalModel(model, processor, name, say=told.append)
    request = Request(picture(120, 90, 1), QUESTIONS)
    assert worst(local.margins([request]), [local.scorer.plain(request)]) < 1e-4
    assert (local.way == "plain") == bool(told) == (name == "gemma3")
    half = LocalModel(build(name)[0].to(torch.bfloat16), processor, name)
    assert half.way == local.way


@pytest.mark.parametrize("name", list(ARCHITECTURES))
def test_a_checkpoint_in_a_folder_is_the_model_that_was_saved(name: str, tmp_path: Any) -> None:
    model, processor = build(name)
    model.save_pretrained(tmp_path)
    processor.save_pretrained(tmp_path)
    request = Request(picture(120, 90, 1), QUESTIONS)
    loaded = LocalModel.load(str(tmp_path))
    assert worst(loaded.margins([request]), LocalModel(model, processor, name).margins([request])) < 1e-5
    assert len(loaded.identity.revision) == 64


def test_likelihoods_of_continuations_differ_by_the_margin(built: tuple[str, Any, Any]) -> None:
    name, model, processor = built
    local = LocalModel(model, processor, name)
    request = Request(picture(120, 90, 1), QUESTIONS)
    margins = local.margins([request])[0]
    found = local.likelihoods(request, [SINGLE] * len(QUESTIONS))
    plain = local.scorer.plain_likelihoods(request, [local.prompter.answers] * len(QUESTIONS))
    for question, (yes, no), margin, alone in zip(QUESTIONS, found, margins, plain, strict=True):
        assert yes[0] - no[0] == pytest.approx(margin, abs=1e-4)
        assert [yes[0], no[0]] == pytest.approx([each for each, _ in alone], abs=1e-4)
        # Of several tokens, each counts; and the greedy one is found among all of the vocabulary.
        one, longer = local.likelihoods(Request(request.image, (question,)), [(" yes", " yes indeed")])[0]
        assert one[0] == pytest.approx(yes[0], abs=1e-4)
        assert longer[0] < one[0]
        best = int(_last_logits(local, request, question).argmax())
        assert [each for _, each in (yes, no)] == [ids == (best,) for ids in local.prompter.answers]


def _last_logits(local: LocalModel, request: Request, question: str) -> torch.Tensor:
    with torch.inference_mode():
        inputs = local.scorer.prompt_inputs(question, request)
        return local.scorer.model(**inputs, use_cache=False).logits[0, -1]
