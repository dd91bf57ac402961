"""A folder with small versions of every file that the documentation names, copied for each test."""

from __future__ import annotations

import hashlib
import json
import shutil
import warnings
from importlib import resources
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from recap.cli.main import app
from recap.images import open_image
from tests.datasets.official import serve_gsr
from tests.datasets.site import Site

QUESTIONS = (
    ("Is the mug to the left of the laptop?", "yes"),
    ("Is the mug on the table?", "no"),
    ("Is the crate on the suitcase?", "yes"),
)


def recap(*arguments: str) -> Result:
    """The real command line in this process: torch is loaded once for all commands."""
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prepared")
    _statements(folder)
    _tables(folder)
    _official(folder)
    _logs(folder)
    return folder


@pytest.fixture
def folder(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the prepared files, which is the working directory."""
    here = tmp_path / "here"
    shutil.copytree(prepared, here)
    monkeypatch.chdir(here)
    return here


def _statements(folder: Path) -> None:
    open_image("world:whatsup/0032").save(folder / "kitchen.jpg")
    photograph = resources.files("recap.server").joinpath("photographs", "cat.jpg")
    (folder / "photo.jpg").write_bytes(photograph.read_bytes())
    rows = [{"image": "kitchen.jpg", "question": question, "label": label} for question, label in QUESTIONS]
    for name in ("mine.jsonl", "statements.jsonl", "part-aa.jsonl"):
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))


def _tables(folder: Path) -> None:
    table = str(folder / "table.jsonl")
    probed = recap("probe", "world:whatsup", "--limit", "160", "--model", "world:aligned", "--out", table)
    assert probed.exit_code == 0, probed.output
    absent = folder / "absent.jsonl"
    probed = recap("probe", "world:existence", "--limit", "180", "--model", "world:aligned", "--out", str(absent))
    assert probed.exit_code == 0, probed.output
    rows = [json.loads(line) for line in absent.read_text().splitlines()]
    for row in rows:
        if row["relation"] == "exists":  # as of a model that can tell: calibration warns of one that cannot
            row["direct"]["image"] = 3.0 if row["label"] == "yes" else -3.0
    absent.write_text("".join(json.dumps(row) + "\n" for row in rows))
    calibrated = recap("calibrate", table, "--coverage", "0.8", "--out", str(folder / "policy.json"))
    assert calibrated.exit_code == 0, calibrated.output
    for name in ("calibration.jsonl", "new.jsonl", "pilot.jsonl", "vsr.jsonl"):
        shutil.copy(table, folder / name)
    lines = [json.loads(line) for line in (folder / "table.jsonl").read_text().splitlines()]
    unlabelled = "".join(json.dumps(line | {"label": None}) + "\n" for line in lines)
    (folder / "unlabelled.jsonl").write_text(unlabelled)
    (folder / "filled.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines[:5]))
    with warnings.catch_warnings():  # a table over the pair as asked: the conversion undoes itself, and warns
        warnings.simplefilter("ignore")
        asked = recap("table", "convert", "--pair", "asked", table, str(folder / "mine-margins.jsonl"))
    assert asked.exit_code == 0, asked.output
    graph = resources.files("recap.claims").joinpath("graph.toml").read_text("utf-8")
    for name in ("my.toml", "learned.toml"):
        (folder / name).write_text(graph)


def _logs(folder: Path) -> None:
    """Logs of other tools, without the sample that is no spatial question."""
    logs = Path(__file__).parents[1] / "datasets" / "logs"
    lines = next(logs.glob("samples_spatial_choice*")).read_text().splitlines(keepends=True)
    (folder / "samples_spatial.jsonl").write_text("".join(line for line in lines if "colour" not in line))
    log = json.loads((logs / "inspect.json").read_text())
    log["samples"] = [each for each in log["samples"] if each["id"] != 5]
    (folder / "log.eval").write_text(json.dumps(log))
    (folder / "pictures").mkdir()
    for picture in logs.glob("*.jpg"):
        shutil.copy(picture, folder / "pictures")
    imported = recap(
        "import", "lm-eval", str(folder / "samples_spatial.jsonl"), "--out", str(folder / "imported.jsonl")
    )
    assert imported.exit_code == 0, imported.output


def _official(folder: Path) -> None:
    """The benchmarks' layouts with a few statements, and pictures that can be opened."""
    site, data = Site(), folder / "data"
    serve_gsr(site, data)
    for path, content in site.files.items():
        (data / path).parent.mkdir(parents=True, exist_ok=True)
        (data / path).write_bytes(content)
    picture = folder / "kitchen.jpg"
    shown = data / "whatsup" / "data" / "controlled_images"
    shown.mkdir(parents=True)
    shutil.copy(picture, shown / "1.jpeg")
    (folder / "checksums.txt").write_text(f"{hashlib.sha256(picture.read_bytes()).hexdigest()}  {picture.name}\n")
