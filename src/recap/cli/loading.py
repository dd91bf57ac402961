"""Loading a model for a command, with a clear word where the parts for it are not installed."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

from recap.audit import load_local
from recap.cli.console import notice
from recap.errors import RecapError

if TYPE_CHECKING:
    from recap.models.local import LocalModel


def require_local() -> None:
    """Say clearly when the parts for local models are not installed."""
    try:
        for part in ("torch", "transformers", "safetensors"):
            importlib.import_module(part)
    except ImportError as error:
        raise RecapError(f"{error.name} is not installed: local models need pip install 'recap-vlm[local]'") from None


def load_model(
    name: str, *, dtype: str | None, device: str | None, attention: str | None, plain: bool, compiled: bool = False
) -> LocalModel:
    """The checkpoint, self-checked; what the self-check says goes to stderr."""
    require_local()
    import transformers

    transformers.logging.set_verbosity_error()
    if not sys.stderr.isatty():
        transformers.logging.disable_progress_bar()
    return load_local(name, dtype=dtype, device=device, attention=attention, plain=plain, compiled=compiled, say=notice)
