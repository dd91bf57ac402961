"""A processor that cuts out the middle of a picture: verdicts and runs say so, and padding ends it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install 'recap-vlm[local]'")

import recap as package
from recap.audit import replay
from recap.models.local import LocalModel
from recap.server.schema import AuditResponse
from tests.conftest import Ran
from tests.models.tiny import picture
from tests.probing.checkpoint import save_checkpoint

QUESTION = "Is the mug to the left of the table?"
WIDE = "the processor shows the model only the middle 29% of the picture's width; --pad keeps all of it"
HIGH = "the processor shows the model only the middle 50% of the picture's height; --pad keeps all of it"


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_checkpoint(tmp_path_factory.mktemp("checkpoint"))


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pictures")
    for name, size in {"wide": (1024, 300), "high": (80, 160), "square": (90, 90), "nearly": (400, 401)}.items():
        picture(*size, 1).save(folder / f"{name}.png")
    return folder


def test_a_verdict_says_how_much_was_shown(checkpoint: Path, pictures: Path) -> None:
    auditor = package.Auditor(LocalModel.load(str(checkpoint), dtype="float32"))
    names = ("wide", "high", "square", "nearly")
    verdicts = auditor.audit_many([(pictures / f"{name}.png", QUESTION) for name in names])
    assert [verdict.notes for verdict in verdicts] == [(WIDE,), (HIGH,), (), ()]
    trail = json.loads(json.dumps(verdicts[0].to_json()))
    assert trail["notes"] == [WIDE]
    assert replay(trail, None).notes == (WIDE,)
    assert AuditResponse.model_validate(trail | {"model": "m"}).notes == [WIDE]
    padded = package.Auditor(LocalModel.load(str(checkpoint), dtype="float32", pad=True))
    assert padded.audit(pictures / "wide.png", QUESTION).notes == ()


def test_the_commands_say_it_too(recap: Callable[..., Ran], checkpoint: Path, pictures: Path, tmp_path: Path) -> None:
    ran = recap("audit", pictures / "wide.png", QUESTION, "--model", checkpoint, "--json")
    assert (ran.code, ran.json["notes"]) == (0, [WIDE])
    assert ran.err == f"recap: {WIDE}\n"
    lines = [{"image": f"{name}.png", "question": QUESTION} for name in ("wide", "high", "square", "nearly")]
    (pictures / "mine.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    told = recap("probe", pictures / "mine.jsonl", "--model", checkpoint, "--out", tmp_path / "t.jsonl", "--json")
    assert (told.code, told.json["cropped_images"]) == (0, 2)
    assert told.err == (
        "recap: 2 of 4 pictures are cut: of each the processor shows the model only the middle of its width or height, "
        "down to 29%; --pad keeps all of it\n"
    )
