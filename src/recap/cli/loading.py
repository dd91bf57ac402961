"""Loading a model for a command: what there is to say about it goes to stderr, and transformers stays quiet."""

from __future__ import annotations

import sys
from typing import Any

from recap.cli.console import notice
from recap.models import LikelihoodModel
from recap.models.load import load_model as load_any_model
from recap.models.remote import is_remote


def load_model(name: str, **options: Any) -> LikelihoodModel:
    """The checkpoint, self-checked, or the server, tried. An option that does not belong to it is refused."""
    if not is_remote(name):
        require_local()
    return load_any_model(name, **({"say": notice} | options))


def require_local() -> None:
    """Say clearly when the parts for local models are not installed; where they are, keep them from chattering."""
    from recap.models.load import require_local as required

    required()
    import transformers

    transformers.logging.set_verbosity_error()
    if not sys.stderr.isatty():
        transformers.logging.disable_progress_bar()
