"""A local model for an evaluation harness, whose options come as the harness sends them."""

from __future__ import annotations

from typing import Any

import torch

from recap.errors import RecapError
from recap.models.load import load_model
from recap.models.local import LocalModel

OURS = "revision dtype device attention plain compiled tokens max_pixels pad"
"""options of `--model_args` that a local model takes; harnesses send others of their own"""


def load_local(name: str, options: dict[str, Any]) -> LocalModel:
    """A checkpoint by folder or hub name, or one in the box. Harnesses name a GPU by default, wherever they run."""
    given = {option: options[option] for option in OURS.split() if options.get(option) is not None}
    if str(given.get("device")).startswith("cuda") and not torch.cuda.is_available():
        del given["device"]
    model = load_model(name, **given)
    if not isinstance(model, LocalModel):
        raise RecapError(f"{name}: a served model tells no log-likelihoods of whole continuations")
    return model
