"""What is promised of the models in the box, and of the package that carries them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from recap import Auditor
from recap.world.bundled import MODELS, checkpoint_folder
from recap.world.scheme import open_image

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("short", MODELS)
def test_a_bundled_model_audits_with_the_policy_shipped_for_it(short: str) -> None:
    auditor = Auditor.load(f"world:{short}")
    verdict = auditor.audit(open_image("world:whatsup/0000"), "Is the mug to the left of the ball?")
    assert verdict.accepted in (True, False)
    assert verdict.mode == {"aligned": "recap-selector", "biased": "recap-img"}[short]


def test_a_scene_can_be_audited_by_name_and_by_picture_alike() -> None:
    auditor = Auditor.load("world:aligned")
    named, drawn = auditor.audit_many(
        [(picture, "Is the cat on the table?") for picture in ("world:vsr/0005", open_image("world:vsr/0005"))]
    )
    assert [probe.margin for probe in named.probes] == pytest.approx([probe.margin for probe in drawn.probes], abs=1e-4)


@pytest.mark.slow
def test_the_promised_figures_hold_and_are_those_of_the_model_cards() -> None:
    command = [sys.executable, "-m", "benchmarks.world", "--check", "--only", "world:whatsup"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    for line in ran.stdout.splitlines():
        if line.startswith("world:"):
            name, found = line.split(" on world:whatsup: ")
            card = json.loads((checkpoint_folder(name) / "record" / "figures.json").read_text())["world:whatsup"]
            now = json.loads(found)
            assert now["modes"] == card["modes"]
            for part in ("direct", "confidence", "recap"):
                assert now[part] == pytest.approx(card[part], abs=0.3)


@pytest.mark.slow
def test_the_wheel_is_small_and_runs_the_demo_without_the_repository(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.stat().st_size < 70e6
    names = zipfile.ZipFile(wheel).namelist()
    for short in MODELS:
        assert f"recap/world/checkpoints/{short}/model.safetensors" in names
        assert f"recap/world/checkpoints/{short}/record/policy.json" in names
    parts = ("coco/model.safetensors", "coco/domain.json", "coco/domain.npz", "coco/record/policy.json")
    for part in (*parts, "coco-biased/difference.safetensors"):
        assert f"recap/photo/checkpoints/{part}" in names
    place = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place)
    code = (
        "import recap, sys; assert recap.__file__.startswith(sys.argv[1]), recap.__file__; "
        "sys.argv = ['recap', 'demo', '--groups', '40']; from recap.cli.main import main; main()"
    )
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    environment = os.environ | {"PYTHONPATH": str(place)}
    ran = subprocess.run(
        [sys.executable, "-c", code, str(place)],
        cwd=elsewhere,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert (elsewhere / "recap-demo" / "demo.html").stat().st_size > 50_000
