"""Loading a model for a command: what there is to say about it goes to stderr, and transformers stays quiet."""

from __future__ import annotations

import os
import sys
from typing import Any

from recap.cli.console import notice
from recap.models import LikelihoodModel
from recap.models.load import load_model as load_any_model
from recap.models.load import require_local

__all__ = ["load_model", "require_local"]

# Read when transformers is imported, which has not happened yet, here or in a worker of a cluster.
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
if not sys.stderr.isatty():
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")


def load_model(name: str, **options: Any) -> LikelihoodModel:
    """The checkpoint, self-checked, or the server, checked. An option that does not belong to it is refused."""
    return load_any_model(name, **({"say": notice} | options))
