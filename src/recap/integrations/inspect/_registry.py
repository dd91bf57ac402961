# Inspect is an optional dependency, typed only where it is installed.
# pyright: reportUnknownVariableType=false
"""What Inspect finds through the entry point: importing registers."""

from __future__ import annotations

from recap.integrations.inspect.provider import recap_provider
from recap.integrations.inspect.scorer import audit
from recap.integrations.inspect.task import spatial

__all__ = ["audit", "recap_provider", "spatial"]
