"""The short start of `recap audit`: what it leaves out, and that nothing else changes."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from benchmarks.self_checks import NAMES
from PIL import Image

from recap import BundledAuditor
from recap.models.load import SELF_CHECK, load_model
from recap.models.local import LocalModel
from recap.models.self_check import recorded_check, self_check
from recap.routing import bundled_models
from recap.schemes import scheme_of
from recap.world.scheme import open_image

HEAVY = ("torch._dynamo", "torch._inductor", "torch._meta_registrations", "torch.distributed.tensor", "sympy", "scipy",
         "sklearn", "pandas", "polars", "matplotlib", "accelerate", "transformers.models.bert")  # fmt: skip
MOST_SECONDS = 12.0
"""of a processor; about two where nothing else runs, and twelve before there was a short start"""
QUESTION = "Is the cat to the left of the dog?"
RUN = """
import json, resource, sys
{before}
from recap.cli.main import main
try:
    main()
finally:
    used = resource.getrusage(resource.RUSAGE_SELF)
    told = {{"seconds": used.ru_utime + used.ru_stime, "heavy": [name for name in {heavy!r} if name in sys.modules]}}
    print(json.dumps(told), file=sys.stderr)
"""


def audited(*arguments: object, before: str = "") -> tuple[dict[str, Any], dict[str, Any]]:
    """What `recap audit --json` prints, and what it took."""
    code = RUN.format(before=before, heavy=HEAVY)
    command = [sys.executable, "-c", code, "audit", *map(str, arguments), "--json"]
    on_cpu = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}  # with a GPU everything is imported
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300, env=on_cpu)
    return json.loads(done.stdout), json.loads(done.stderr.splitlines()[-1])


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lean") / "scene.png"
    open_image("world:gsr/0003").save(path)
    return path


@pytest.fixture(scope="module")
def blurred(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """No drawn scene: every bundled model is asked whether it was made for such a picture."""
    path = tmp_path_factory.mktemp("lean") / "blurred.jpg"
    few = np.random.default_rng(5).integers(0, 256, (9, 12, 3), np.uint8)
    Image.fromarray(few).resize((640, 480), Image.Resampling.BICUBIC).save(path)
    return path


@pytest.mark.parametrize("picture", ["scene", "blurred"])
def test_an_audit_imports_no_compiler_and_says_what_the_library_says(
    picture: str, request: pytest.FixtureRequest
) -> None:
    path: Path = request.getfixturevalue(picture)
    told, cost = audited(path, QUESTION)
    assert cost["heavy"] == []
    assert cost["seconds"] < MOST_SECONDS
    # This process has all of transformers, and made its models on the meta device.
    wanted = json.loads(json.dumps(BundledAuditor(bundled_models()).audit(path, QUESTION).to_json()))
    assert {**told, "notes": None} == {**wanted, "notes": None}


def test_where_transformers_is_not_as_expected_it_is_imported_as_usual(scene: Path) -> None:
    broken = "import recap.models.lean as lean; lean.WANTED = (*lean.WANTED, 'transformers.models.no_such_model')"
    told, cost = audited(scene, QUESTION, before=broken)
    assert "torch._dynamo" in cost["heavy"]
    assert told == audited(scene, QUESTION)[0]


def test_an_option_that_changes_the_computation_takes_the_usual_way(scene: Path) -> None:
    assert "torch._dynamo" in audited(scene, QUESTION, "--dtype", "float32")[1]["heavy"]


def test_nothing_of_it_is_done_in_a_process_of_somebody_else() -> None:
    code = (
        "import recap, torch, transformers; kept = torch.distributed.is_available, torch._check_with\n"
        "recap.Auditor.load('world:aligned')\n"
        "assert kept == (torch.distributed.is_available, torch._check_with) and hasattr(transformers, 'BertModel')"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


@pytest.mark.parametrize("name", NAMES)
def test_the_recorded_self_check_is_what_it_finds_today(name: str) -> None:
    scheme = scheme_of(name)
    assert scheme is not None
    folder = scheme.checkpoint_folder(name)
    known = json.loads((folder / SELF_CHECK).read_text())["of"]
    here = {"torch": torch.__version__.partition("+")[0], "transformers": transformers.__version__}
    here |= {"machine": platform.machine().lower()}
    if here != {key: known[key] for key in here}:
        pytest.skip(
            f"recorded with torch {known['torch']} and transformers {known['transformers']}, {known['machine']}"
        )
    model = load_model(name, device="cpu", dtype="float32")
    assert isinstance(model, LocalModel)
    recorded = recorded_check(folder / SELF_CHECK, model.scorer, model.identity.revision)
    assert recorded is not None, "the checkpoint is another: python -m benchmarks.self_checks"
    found = self_check(model.scorer, lambda _: None)
    assert found.way == recorded.way == model.way
    assert found.difference == pytest.approx(recorded.difference, abs=1e-4)
    assert model.noise < model.most_noise / 10


def test_a_record_of_other_weights_or_versions_is_not_believed(tmp_path: Path) -> None:
    model = load_model("world:aligned")
    assert isinstance(model, LocalModel)
    scheme = scheme_of("world:aligned")
    assert scheme is not None
    record, revision = scheme.checkpoint_folder("world:aligned") / SELF_CHECK, model.identity.revision
    assert recorded_check(record, model.scorer, "0" * 64) is None
    assert recorded_check(tmp_path / "none.json", model.scorer, revision) is None
    other = tmp_path / "other.json"
    other.write_text(record.read_text().replace(transformers.__version__, "0.0.1"))
    assert recorded_check(other, model.scorer, revision) is None
    other.write_text('{"of": 3}')
    assert recorded_check(other, model.scorer, revision) is None
