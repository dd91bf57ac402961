"""Ways of loading a model that leave a trace: Ray's workers are other processes, so what they run must be importable."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from recap.models.contract import Identity
from recap.models.load import load_model
from recap.models.local import LocalModel


def small(checkpoint: str) -> LocalModel:
    """With a small budget of tokens, so that a small dataset makes many batches."""
    return load_model(checkpoint, tokens=300)


def noted(folder: str, load: Callable[[], LocalModel]) -> LocalModel:
    """Says which process loads."""
    (Path(folder) / str(os.getpid())).touch()
    return load()


class Elsewhere(LocalModel):
    """A model with other libraries than ours."""

    @property
    def identity(self) -> Identity:
        return replace(super().identity, libraries="torch 1.0, transformers 2.0")


def unlike_the_first(folder: str, load: Callable[[], LocalModel]) -> LocalModel:
    """The process that comes first gets the model, every other the model of another machine."""
    model = load()
    with contextlib.suppress(FileExistsError):
        (Path(folder) / "first").touch(exist_ok=False)
        return model
    model.__class__ = Elsewhere
    return model
