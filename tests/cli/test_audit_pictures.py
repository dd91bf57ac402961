"""`recap audit`: pictures from a pipe, and pictures that cannot be judged."""

from __future__ import annotations

import io
from importlib import resources
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner, Result

from recap.cli.main import app
from recap.errors import RecapError

QUESTION = "Is the dog to the left of the cat?"
PHOTOGRAPH = Path(str(resources.files("recap.server").joinpath("photographs", "cat.jpg")))


def run(*arguments: str | Path, piped: bytes | None = None) -> Result:
    return CliRunner().invoke(app, ["audit", *map(str, arguments)], input=piped)


def moving() -> bytes:
    frames = [Image.new("RGB", (64, 48), colour) for colour in ("red", "blue")]
    buffer = io.BytesIO()
    frames[0].save(buffer, "GIF", save_all=True, append_images=frames[1:])
    return buffer.getvalue()


@pytest.mark.parametrize("asked", [(QUESTION,), ("--text", "A dog is behind the cat.")], ids=["question", "text"])
def test_a_picture_from_a_pipe_is_judged_as_its_file_is(asked: tuple[str, ...]) -> None:
    piped, named = run("-", *asked, piped=PHOTOGRAPH.read_bytes()), run(PHOTOGRAPH, *asked)
    assert (piped.exit_code, named.exit_code) == (0, 0), piped.output
    assert piped.stdout == named.stdout


@pytest.mark.parametrize(
    ("content", "why"),
    [(b"", "nothing came in"), (b"no picture", "this is not an image"), (moving(), "it moves; send a single frame")],
)
def test_what_comes_through_a_pipe_and_is_no_picture_is_refused_in_one_line(content: bytes, why: str) -> None:
    told = run("-", QUESTION, piped=content)
    assert isinstance(told.exception, RecapError)
    assert why in str(told.exception)
    assert "\n" not in str(told.exception)


def test_a_file_that_moves_is_refused_as_the_service_refuses_it(tmp_path: Path) -> None:
    path = tmp_path / "moving.gif"
    path.write_bytes(moving())
    told = run(path, QUESTION)
    assert str(told.exception) == f"{path}: it moves; send a single frame"


def test_a_picture_that_is_all_width_gets_a_note(tmp_path: Path) -> None:
    with Image.open(PHOTOGRAPH) as photograph:
        for name, size in (("wide", (4000, 20)), ("high", (20, 4000)), ("usual", (400, 100))):
            photograph.resize(size).save(tmp_path / f"{name}.png")
    assert "the picture is 200 times as wide as high" in run(tmp_path / "wide.png", QUESTION).stderr
    assert "the picture is 200 times as high as wide" in run(tmp_path / "high.png", QUESTION).stderr
    assert "times as" not in run(tmp_path / "usual.png", QUESTION).stderr
