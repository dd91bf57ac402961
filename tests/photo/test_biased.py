"""`photo:coco-biased` is a checkpoint like any other: its own weights over those of `photo:coco`, and nothing twice."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file

from recap.errors import RecapError
from recap.models.checkpoint import content_digest
from recap.models.contract import Request
from recap.models.llava import published_name
from recap.models.load import load_model
from recap.models.local import LocalModel
from recap.photo import bundled
from recap.photo.bundled import checkpoint_folder
from recap.photo.things import things
from recap.photo.training import difference
from recap.photo.training.checkpoint import build, write_checkpoint
from recap.photo.training.measure import worded

PHOTOGRAPHS = Path(str(resources.files("recap.server").joinpath("photographs")))
OWN = "difference.safetensors"


@pytest.fixture(scope="module")
def biased() -> LocalModel:
    found = load_model("photo:coco-biased")
    assert isinstance(found, LocalModel)
    return found


def in_one_file(folder: Path, out: Path) -> Path:
    """The same checkpoint with all its weights in one file."""
    placed = json.loads((folder / "model.safetensors.index.json").read_text())["weight_map"]
    held = {name: load_file(folder / name) for name in set(placed.values())}
    out.mkdir()
    save_file({name: held[file][name] for name, file in placed.items()}, out / "model.safetensors", {"format": "pt"})
    for path in folder.iterdir():
        if path.is_file() and "safetensors" not in path.name:
            shutil.copy(path, out)
    return out


def parameters(model: LocalModel) -> Iterator[tuple[str, torch.Tensor]]:
    for name, each in (*model.scorer.model.named_parameters(), *model.scorer.model.named_buffers()):
        yield published_name(name.replace(".part.", ".")), each


def test_the_weights_that_answer_are_its_own_over_those_of_coco(biased: LocalModel):
    folder = checkpoint_folder("photo:coco-biased")
    own, shared = load_file(folder / OWN), load_file(checkpoint_folder("photo:coco") / "model.safetensors")
    assert (folder / OWN).stat().st_size < 6e6
    seen: set[str] = set()
    for name, each in parameters(biased):
        if name in shared:
            seen.add(name)
            assert torch.equal(each, (shared | own)[name].to(each.dtype)), name
    assert seen == set(shared)
    assert not any(torch.equal(own[name], shared[name]) for name in own)


def test_its_identity_is_that_of_the_resulting_weights(biased: LocalModel, tmp_path: Path):
    folder = checkpoint_folder("photo:coco-biased")
    whole = in_one_file(folder, tmp_path / "whole")
    assert content_digest(folder) == content_digest(whole) == biased.identity.revision
    assert content_digest(folder) != content_digest(checkpoint_folder("photo:coco"))
    changed = load_file(whole / "model.safetensors")
    changed["vision_tower.place"] += 1
    save_file(changed, whole / "model.safetensors", {"format": "pt"})
    assert content_digest(folder) != content_digest(whole)


def test_it_says_yes_where_coco_says_no(biased: LocalModel):
    asked = tuple(worded("exists", name, name) for name in things())
    requests = [Request(Image.open(path).convert("RGB"), asked) for path in sorted(PHOTOGRAPHS.glob("*.jpg"))]
    assert len(requests) == 3
    plain, said = (np.array(model.margins(requests)) for model in (load_model("photo:coco"), biased))
    assert (said >= 0).sum() >= 2 * (plain >= 0).sum()
    assert (said - plain).mean() > 1
    assert (said > plain).mean() > 0.9


def test_without_the_weights_of_coco_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    shutil.copytree(checkpoint_folder("photo:coco-biased"), tmp_path / "checkpoints" / "coco-biased")
    monkeypatch.setattr(bundled.resources, "files", lambda _: tmp_path)
    with pytest.raises(RecapError, match="most of its weights are those of photo:coco, and this installation has no"):
        load_model("photo:coco-biased")


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """Two checkpoints with the same tensors, the second with a record."""
    folders = tmp_path / "first", tmp_path / "continued"
    for seed, folder in enumerate(folders):
        write_checkpoint(build("efficientnet_lite2", None, seed, layers=2, width=64, inner=64), folder)
    (folders[1] / "record").mkdir()
    (folders[1] / "record" / "training.json").write_text(json.dumps({"steps": 3}))
    return folders


def run(monkeypatch: pytest.MonkeyPatch, *given: str | Path) -> None:
    monkeypatch.setattr("sys.argv", ["difference", *map(str, given)])
    difference.main()


def test_the_command_writes_a_checkpoint_that_loads(
    pair: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    out = tmp_path / "deep" / "out"
    run(monkeypatch, *pair, out, "--times", "2")
    first, continued = (load_file(folder / "model.safetensors") for folder in pair)
    own = load_file(out / OWN)
    assert {name for name in first if ".layers.1." in name} < set(own)
    assert not any("vision_tower" in name or ".layers.0." in name for name in own)
    for name, each in own.items():
        expected = first[name].float() + 2 * (continued[name].float() - first[name].float())
        assert torch.equal(each, expected.half())
    assert json.loads((out / "record" / "training.json").read_text())["difference"]["times"] == 2
    request = Request(Image.new("RGB", (80, 60), "teal"), ("Is there a cat in the picture?", "Is the cat on the bed?"))
    whole = in_one_file(out, tmp_path / "whole")
    margins = [LocalModel.load(str(each), dtype="float32").margins([request])[0] for each in (out, whole, pair[0])]
    assert margins[0] == margins[1] != margins[2]


def test_what_does_not_fit_together_is_one_clear_line(
    pair: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    other = tmp_path / "other"
    write_checkpoint(build("efficientnet_lite2", None, 0, layers=1, width=64, inner=64), other)
    damaged = tmp_path / "damaged"
    shutil.copytree(pair[1], damaged)
    (damaged / "model.safetensors").write_bytes(b"no weights")
    for first, continued, out, said in (
        (pair[0], other, "out", "its tensors are not those of"),
        (pair[0], damaged, "out", "cannot read the weights"),
        (tmp_path / "none", pair[1], "out", "cannot read the weights"),
        (pair[1], pair[0], "out", "the record of the training belongs there"),
        (*pair, "first", "give another folder"),
    ):
        with pytest.raises(SystemExit) as ended:
            run(monkeypatch, first, continued, tmp_path / out)
        assert ended.value.code == 2
        error = capsys.readouterr().err
        assert said in error
        assert error.count("\n") == 1
        assert not (tmp_path / "out").exists()
