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


def load_model(
    name: str, *, dtype: str | None, device: str | None, attention: str | None, plain: bool, compiled: bool = False
) -> LocalModel:
    """The checkpoint, self-checked; what the self-check says goes to stderr."""
    try:
        import transformers

        importlib.import_module("torch")
    except ImportError as error:
        raise RecapError(f"{error.name} is not installed: local models need pip install 'recap-vlm[local]'") from None
    transformers.logging.set_verbosity_error()
    if not sys.stderr.isatty():
        transformers.logging.disable_progress_bar()
    return load_local(name, dtype=dtype, device=device, attention=attention, plain=plain, compiled=compiled, say=notice)
