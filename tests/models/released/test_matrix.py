"""Every released model × torchvision or not × tree or plain × two picture sizes, each mode in a process of its own."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.models.released.checkpoints import RELEASED

pytestmark = pytest.mark.released

TORCHVISION = os.environ.get("RECAP_TORCHVISION", "")
"""a folder with torchvision alone in it; `make test-released` makes one"""
HERE = Path(__file__).parents[3]


@pytest.fixture(scope="session", params=["without torchvision", "with torchvision"])
def measured(request: pytest.FixtureRequest, released: Callable[[str], Path]) -> Callable[[str], dict[str, Any]]:
    with_it = request.param == "with torchvision"
    if with_it and not TORCHVISION:
        pytest.skip("RECAP_TORCHVISION names no folder with torchvision (make test-released)")
    extra = [TORCHVISION, str(HERE / "tests" / "vllm" / "site")] if with_it else []
    path = os.pathsep.join([str(HERE / "src"), str(HERE), *extra])

    @functools.cache
    def measure(name: str) -> dict[str, Any]:
        command = [sys.executable, "-m", "tests.models.released.measure", str(released(name))]
        done = subprocess.run(
            command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": path}, check=False
        )
        assert done.returncode == 0, done.stderr[-2000:]
        found = json.loads(done.stdout)
        assert found["processor"].endswith("Pil") != with_it, "the processor is of the wrong library"
        return found

    return measure


@pytest.mark.parametrize("name", RELEASED)
def test_loads_and_scores_by_tree(measured: Callable[[str], dict[str, Any]], name: str) -> None:
    assert measured(name)["way"] == "tree"


@pytest.mark.parametrize("size", [0, 1], ids=["640×480", "300×420"])
@pytest.mark.parametrize("name", RELEASED)
def test_tree_equals_plain(measured: Callable[[str], dict[str, Any]], name: str, size: int) -> None:
    found = measured(name)
    assert found["tree"][size] == pytest.approx(found["plain"][size], abs=1e-4)
    assert len({round(margin, 4) for margin in found["plain"][size]}) == 3, "the questions look alike to this model"


@pytest.mark.parametrize("name", RELEASED)
def test_image_tokens_and_answer_ids_are_the_released_ones(measured: Callable[[str], Any], name: str) -> None:
    found, known = measured(name), RELEASED[name]
    assert found["image_tokens"][0] == known.image_tokens
    assert found["answers"] == [[known.yes], [known.no]]


@pytest.mark.parametrize("name", RELEASED)
def test_sizes_are_reckoned_as_the_processor_counts(measured: Callable[[str], Any], name: str) -> None:
    found = measured(name)
    wide = [more + found["placeholders"] for more in found["expanded"]]
    assert found["estimated"] == pytest.approx(wide, abs=2)
