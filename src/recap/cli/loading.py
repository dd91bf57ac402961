"""Loading a model for a command, with a clear word where the parts for it are not installed."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from typing import Any

from recap.audit import load_any
from recap.cli.console import notice
from recap.errors import RecapError
from recap.models import LikelihoodModel
from recap.models.served import is_served


def require_local() -> None:
    """Say clearly when the parts for local models are not installed; where they are, keep them from chattering."""
    try:
        for part in ("torch", "transformers", "safetensors"):
            importlib.import_module(part)
    except ImportError as error:
        raise RecapError(f"{error.name} is not installed: local models need pip install 'recap-vlm[local]'") from None
    import transformers

    transformers.logging.set_verbosity_error()
    if not sys.stderr.isatty():
        transformers.logging.disable_progress_bar()


@dataclass(frozen=True)
class Serving:
    """How a served model is to be asked, as far as the user says."""

    server: str | None = None
    concurrency: int | None = None
    timeout: float | None = None
    patience: float | None = None
    template: str | None = None

    @property
    def given(self) -> dict[str, Any]:
        """What was said."""
        return {name: value for name, value in vars(self).items() if value is not None}


def load_model(
    name: str,
    *,
    dtype: str | None,
    device: str | None,
    attention: str | None,
    plain: bool,
    compiled: bool = False,
    serving: Serving = Serving(),  # noqa: B008
) -> LikelihoodModel:
    """The checkpoint, self-checked, or the server, tried; what there is to say about it goes to stderr."""
    here = {"dtype": dtype, "device": device, "attention": attention, "plain": plain, "compile": compiled}
    if is_served(name):
        _no_use(
            name, [option for option, value in here.items() if value], "a model on this machine, and this is a server"
        )
        return load_any(name, **serving.given, say=notice)
    _no_use(name, list(serving.given), "a served model (http://host:port/v1#name)")
    require_local()
    return load_any(name, dtype=dtype, device=device, attention=attention, plain=plain, compiled=compiled, say=notice)


def _no_use(name: str, options: list[str], where: str) -> None:
    if options:
        raise RecapError(f"{name}: --{options[0]} is for {where}")
