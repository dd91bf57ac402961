# The harness is an optional dependency, typed only where it is installed.
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUntypedBaseClass=false, reportUnknownParameterType=false
# pyright: reportUntypedFunctionDecorator=false
"""The harness's own command line, with RECAP's model and tasks known to it."""

from __future__ import annotations

import sys

from lm_eval.__main__ import cli_evaluate

from recap.integrations.lm_eval import TASKS


def main() -> None:
    """Run it; its own `--include_path` is given unless the caller gives one."""
    runs = len(sys.argv) < 2 or sys.argv[1] not in ("ls", "list", "validate", "--help", "-h")
    if runs and not any(each.startswith("--include_path") for each in sys.argv):
        sys.argv += ["--include_path", str(TASKS)]
    cli_evaluate()


if __name__ == "__main__":
    main()
