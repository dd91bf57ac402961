"""The suite on photographs runs against any pair of checkpoints: here untrained ones, and pictures of noise."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import recap
from recap.errors import RecapError
from recap.photo.training.checkpoint import build, write_checkpoint
from tests.conftest import DATA

VSR = DATA / "vsr" / "random" / "test.jsonl"


@pytest.mark.slow
@pytest.mark.skipif(not VSR.is_file(), reason="VSR's statements are not on this machine")
def test_the_photo_suite_runs_on_vsr_alone(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = VSR.read_text("utf-8").splitlines()[:18]
    (tmp_path / "vsr" / "random").mkdir(parents=True)
    (tmp_path / "vsr" / "random" / "test.jsonl").write_text("\n".join(lines) + "\n")
    shown = {json.loads(line)["image"] for line in lines}
    dev = list(VSR.with_name("dev.jsonl").read_text("utf-8").splitlines()[:30])
    dev = [line for line in dev if json.loads(line)["image"] not in shown][:16] + lines[:1]  # a shared picture
    (tmp_path / "vsr" / "random" / "dev.jsonl").write_text("\n".join(dev) + "\n")
    (tmp_path / "vsr" / "images").mkdir()
    for name in {json.loads(line)["image"] for line in (*lines[:16], *dev[:14])}:  # some have no picture here
        Image.fromarray(rng.integers(0, 256, (64, 64, 3), dtype=np.uint8)).save(tmp_path / "vsr" / "images" / name)
    models = {}
    for seed, key in enumerate(("photo:coco", "photo:coco-biased")):
        models[key] = str(tmp_path / f"model-{seed}")
        write_checkpoint(build("efficientnet_lite2", None, seed, layers=1, width=64, inner=64), Path(models[key]))
    done = recap.reproduce(
        "photo",
        only=["dev-split", "main-results", "choice"],
        data=tmp_path,
        models=models,
        out=tmp_path / "report",
    )
    assert done.findings["main-results"]
    assert all("calibrated on" in told for told in done.findings["dev-split"])
    assert len(done.findings["dev-split"]) == 2
    assert "main-results" not in done.missing
    assert done.missing["choice"]
    page = done.report.read_text("utf-8")
    assert "photo:coco-biased" in page
    assert "What&#39;sUp" not in page


def test_the_photo_suite_needs_a_folder_of_statements(tmp_path: Path) -> None:
    with pytest.raises(RecapError, match=r"give --data DIR \(recap data fetch vsr fills it\)"):
        recap.reproduce("photo", out=tmp_path)
