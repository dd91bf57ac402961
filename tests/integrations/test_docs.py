"""The snippets of docs/integrations.md run, and so do the commands whose hosts need no more than the package."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from recap.images import open_image
from tests.docs.reading import ROOT, blocks

pytestmark = pytest.mark.integrations
PAGE = ROOT / "docs" / "integrations.md"
RUN = ("inspect",)
"""programs whose documented commands are run here; test_lm_eval.py and test_lmms_eval.py run the like of the others"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    open_image("world:whatsup/0032").save(tmp_path / "kitchen.png")


@pytest.mark.parametrize("text", [each.text for each in blocks(PAGE) if each.language == "python"])
def test_a_snippet_runs(text: str) -> None:
    exec(compile(text, PAGE.name, "exec"), {})


def test_documented_commands_run(tmp_path: Path) -> None:
    typed = [shlex.split(each.text) for each in blocks(PAGE) if each.language == "shell"]
    assert len(typed) == 4
    for argv in typed:
        if argv[0] in RUN:
            program = Path(sys.executable).parent / argv[0]
            done = subprocess.run([program, *argv[1:]], capture_output=True, text=True, cwd=tmp_path, check=False)
            assert done.returncode == 0, done.stderr
