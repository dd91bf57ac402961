# torch types its own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Whether token trees can be trusted with a model: compared with plain forwards on a real request when it is loaded."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from PIL import Image

from recap.files import write_text
from recap.models.contract import SAMPLE_QUESTION, Request
from recap.models.layers import repeated_layers
from recap.models.layout import path_to
from recap.models.scoring import Scorer

QUESTIONS = (SAMPLE_QUESTION, "Is the mug to the right of the laptop?", "Does the box contain the ball?")


@dataclass(frozen=True)
class SelfCheck:
    """How a model is scored, and how far its trees were from plain scoring; None where no tree could be run."""

    way: str
    difference: float | None


def recorded_check(record: Path, scorer: Scorer, revision: str) -> SelfCheck | None:
    """What a bundled checkpoint's self-check found when it was packed; None where it has to be run here.

    On a CPU in fp32 it is decided by the code alone: a record counts for the same weights, the same attention and the
    same versions of the libraries, and a test runs it again.
    """
    if scorer.device.type != "cpu" or scorer.precision != "float32" or scorer.packed is not None:
        return None
    try:
        told = json.loads(record.read_text("utf-8"))
        if told["of"] != _conditions(scorer, revision):
            return None
        return SelfCheck(str(told["way"]), told["difference"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def record_check(record: Path, scorer: Scorer, revision: str) -> SelfCheck:
    """Run the self-check and keep what it found beside the checkpoint."""
    found = self_check(scorer, lambda _: None)
    document = {"of": _conditions(scorer, revision), **asdict(found)}
    write_text(record, json.dumps(document, indent=1, allow_nan=False) + "\n")
    return found


def _conditions(scorer: Scorer, revision: str) -> dict[str, str]:
    """What a self-check on a CPU depends on."""
    return {
        "weights": revision,
        "attention": scorer.attention,
        "answers": json.dumps(scorer.prompter.answers),
        "machine": platform.machine().lower(),
        "torch": torch.__version__.partition("+")[0],
        "transformers": transformers.__version__,
    }


def self_check(scorer: Scorer, say: Callable[[str], None]) -> SelfCheck:
    """Tree against plain forwards on a real request, never by a list of names. What fails is scored plainly."""
    pixels = np.random.default_rng(0).integers(0, 256, (64, 96, 3), dtype=np.uint8)
    request = Request(Image.fromarray(pixels), QUESTIONS)
    plain = scorer.plain(request)
    problem, difference = _tree_problem(scorer, request, plain)
    if problem and scorer.packed is not None:
        say(f"trees are padded to batches: packed into one row, {problem}")
        scorer.unpack()
        problem, padded = _tree_problem(scorer, request, plain)
        difference = difference if padded is None else padded
    if problem:
        say(f"scored plainly: {problem}")
    return SelfCheck("plain" if problem else "tree", difference)


def _tree_problem(scorer: Scorer, request: Request, plain: Sequence[float]) -> tuple[str, float | None]:
    """Why trees cannot be trusted with this model, nothing where they can; and how far one was from plain scoring."""
    try:
        tree = scorer.tree(scorer.prompter.together([request]))[0]
    except Exception as error:
        return f"a token tree does not run on this model ({type(error).__name__})", None
    difference = max(abs(a - b) for a, b in zip(plain, tree, strict=True))
    # In half precision plain scoring differs from itself by rounding; the tree may differ by a few times as much,
    # and by the rounding of plain logits, which the tree reads in fp32. A wrong mask is off by whole units.
    allowed = 1e-3 if scorer.dtype == torch.float32 else 0.1 + 6 * _rounding(scorer, request)
    if not difference <= allowed:
        return f"in the self-check the token tree was off by {difference:.2g}", difference
    gap = _hidden_gap(scorer, request)
    allowed = _hidden_rounding(scorer)
    if not gap <= allowed and not gap <= allowed + 4 * _hidden_noise(scorer, request):
        return f"in the self-check the tree's hidden states were off by {gap:.1%}", difference
    return "", difference


def _hidden_rounding(scorer: Scorer) -> float:
    """What rounding may do to hidden states: it grows with the root of the depth.

    In bf16, 32 to 36 layers of random weights were off by 2.8 to 3.3 % on an H200, three layers by 0.3 % on a CPU;
    leaving out attention between image tokens, where a model has it, by 7.6 % in three layers.
    """
    if scorer.dtype == torch.float32:
        return 1e-3
    layers = repeated_layers(scorer.model, at_least=2)
    return 0.012 * (len(layers[0]) if layers else 1) ** 0.5


@torch.inference_mode()
def _hidden_gap(scorer: Scorer, request: Request) -> float:
    """How far a tree's hidden states along its first question are from a plain forward's, relative to their size.

    Far more telling than margins, for a model whose image tokens see each other both ways is off here by its whole
    computation.
    """
    prompted = scorer.prompter.together([request])
    batch, length = scorer.ready(prompted), len(prompted.sequences[0][0])
    path = path_to(batch.trees[0], batch.trees[0].ends[0])[:length]
    found = scorer.forward_trees(batch, None)[path].float()
    wanted = _plain_hidden(scorer, request)[:length]
    return float((found - wanted).norm() / wanted.norm())


@torch.inference_mode()
def _hidden_noise(scorer: Scorer, request: Request) -> float:
    """How far plain hidden states are from themselves in a batch: the rounding to compare a gap with."""
    wanted = _plain_hidden(scorer, request)
    inputs = _questions_together(scorer, request)
    batched = scorer.body(**inputs, use_cache=False).last_hidden_state[0]
    again = batched[inputs["attention_mask"][0].bool()].float()
    return float((again - wanted).norm() / wanted.norm())


def _plain_hidden(scorer: Scorer, request: Request) -> torch.Tensor:
    """Hidden states of the first question by itself, (tokens, d)."""
    inputs = scorer.prompt_inputs(request.questions[0], request)
    return scorer.body(**inputs, use_cache=False).last_hidden_state[0].float()


def _questions_together(scorer: Scorer, request: Request) -> dict[str, Any]:
    """The request's questions as a padded batch, each with the picture."""
    prompts = [scorer.prompter.prompt(question, True) for question in request.questions]
    return scorer.placed(scorer.prompter.encode(prompts, [scorer.shown(request)] * len(prompts)))


@torch.inference_mode()
def _rounding(scorer: Scorer, request: Request) -> float:
    """How much plain scoring differs from itself when questions share a batch: the noise of the dtype."""
    each = [Request(request.image, (question,)) for question in request.questions]
    alone = [_first_contrast(scorer, _questions_together(scorer, one))[0] for one in each]
    together = _first_contrast(scorer, _questions_together(scorer, request))
    return max(abs(a - b) for a, b in zip(alone, together, strict=True))


def _first_contrast(scorer: Scorer, inputs: dict[str, Any]) -> list[float]:
    """The logit of the first yes token less that of the first no token, behind each row's last real token."""
    logits = scorer.model(**inputs, use_cache=False).logits
    last = inputs["attention_mask"].shape[1] - 1 - inputs["attention_mask"].flip(1).argmax(dim=1)
    rows = logits[torch.arange(len(logits)), last].float()
    yes, no = scorer.prompter.answers
    return (rows[:, yes[0]] - rows[:, no[0]]).tolist()
