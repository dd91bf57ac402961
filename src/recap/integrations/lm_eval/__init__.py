# The harness is an optional dependency, typed only where it is installed.
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUntypedBaseClass=false, reportUnknownParameterType=false
# pyright: reportUntypedFunctionDecorator=false
"""lm-evaluation-harness: the model `recap-hf-multimodal` and the task `recap_spatial`. Importing registers the model.

The harness finds models only among modules that were imported, so it is started through this one:
`python -m recap.integrations.lm_eval run --model recap-hf-multimodal …`.
"""

from __future__ import annotations

from pathlib import Path

from recap.integrations.lm_eval.model import RecapMultimodalLM

TASKS = Path(__file__).parent / "tasks"
"""what `--include_path` names"""

__all__ = ["TASKS", "RecapMultimodalLM"]
