"""Choosing an engine on the command line."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Ran
from tests.probing.checkpoint import save_dataset

Recap = Callable[..., Ran]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_dataset(tmp_path_factory.mktemp("data"), 1)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--engine", "rays"], '"rays" is not an engine; did you mean "ray"? (local, ray)'),
        (["--workers", "2"], "--address, --workers and --gpus-per-worker belong to --engine ray"),
        (["--engine", "local", "--address", "auto"], "belong to --engine ray"),
    ],
)
def test_a_wrong_word_ends_in_one_line(
    recap: Recap, dataset: Path, tmp_path: Path, options: list[str], problem: str
) -> None:
    ran = recap("probe", dataset, "--model", "x", "--out", tmp_path / "t.jsonl", *options)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert problem in ran.err


def test_without_ray_it_says_how_to_get_it(dataset: Path, tmp_path: Path) -> None:
    arguments = ["recap", "probe", str(dataset), "--model", "x", "--out", str(tmp_path / "t.jsonl"), "--engine", "ray"]
    code = f"import sys; sys.modules['ray'] = None; sys.argv = {arguments!r}; from recap.cli.main import main; main()"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == "recap: ray is not installed: --engine ray needs pip install 'recap-vlm[ray]'\n"
