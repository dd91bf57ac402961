# torch types its own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""How far a local model's margins differ by rounding alone, measured on trial questions."""

from __future__ import annotations

import copy

import numpy as np
import torch
from PIL import Image

from recap.models.contract import SAMPLE_QUESTION, Request
from recap.models.scoring import Scorer

QUESTIONS = (SAMPLE_QUESTION, "Does the box contain the ball?")
LEAST_NOISE = 2.5e-6
"""fp32 differs from itself by up to twice this on margins of ten, whatever a handful of questions shows"""
MOST_NOISE = 2.5e-3
"""fp32 on a CPU differs from itself by less: more than twice what the self-check lets a token tree be off"""
SMALL = 50_000_000
"""parameters of a model that is copied to fp32 at once"""


def trial_requests() -> list[Request]:
    """Pictures of noise, of halves, of a disc and of one colour, each with the trial questions."""
    rng = np.random.default_rng(0)
    halves = np.zeros((96, 96, 3), dtype=np.uint8)
    halves[:, 48:] = 255
    y, x = np.mgrid[:96, :96]
    disc = np.where(((x - 60) ** 2 + (y - 40) ** 2 < 400)[..., None], (200, 60, 40), (90, 120, 160)).astype(np.uint8)
    flat = np.full((96, 96, 3), 128, dtype=np.uint8)
    pictures = (rng.integers(0, 256, (96, 96, 3), dtype=np.uint8), halves, disc, flat)
    return [Request(Image.fromarray(pixels), QUESTIONS) for pixels in pictures]


def measured_noise(scorer: Scorer, way: str) -> float:
    """The largest difference between ways to compute the same margins."""
    requests = trial_requests()
    ways = [[scorer.plain(request) for request in requests]]
    if way == "tree":
        ways.append(scorer.tree(scorer.prompter.together(requests)))
        ways.append([scorer.tree(scorer.prompter.together([request]))[0] for request in requests])
    size = sum(parameter.numel() for parameter in scorer.model.parameters())
    if scorer.dtype != torch.float32 and size <= SMALL and scorer.packed is None:
        exact = Scorer(copy.deepcopy(scorer.model).float(), scorer.prompter, packed=False)
        ways.append([exact.plain(request) for request in requests])
    found = np.array(ways)
    return float(np.abs(found[:, None] - found[None]).max())
