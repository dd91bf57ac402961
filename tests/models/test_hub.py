"""Hub names while the hub cannot be reached, and what loading prints."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install 'recap-vlm[local]'")

from recap.errors import RecapError
from recap.models.local import LocalModel
from tests.models.tiny import picture
from tests.probing.checkpoint import save_checkpoint

NAME = "someone/small"


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_checkpoint(tmp_path_factory.mktemp("checkpoint"))


@pytest.fixture
def silent() -> Generator[str]:
    """The address of something that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def audit(folder: Path, hub: str, model: str) -> tuple[subprocess.CompletedProcess[str], float]:
    picture(60, 50, 1).save(folder / "x.png")
    # Offline by setting is another case: here the client believes that it has a connection.
    settings = {"HF_ENDPOINT": hub, "HF_HOME": str(folder / "hf"), "HF_HUB_OFFLINE": "0", "TRANSFORMERS_OFFLINE": "0"}
    command = [sys.executable, "-m", "recap", "audit", str(folder / "x.png"), "Is the mug on the table?", "-m", model]
    start = time.monotonic()
    ran = subprocess.run(command, capture_output=True, text=True, env=os.environ | settings, check=False, timeout=120)
    return ran, time.monotonic() - start


def fill_cache(folder: Path, checkpoint: Path) -> None:
    snapshot = folder / "hf" / "hub" / "models--someone--small" / "snapshots" / ("0" * 40)
    shutil.copytree(checkpoint, snapshot)
    (snapshot.parents[1] / "refs").mkdir()
    (snapshot.parents[1] / "refs" / "main").write_text("0" * 40)


def test_without_a_connection_an_unknown_name_is_one_line_within_seconds(tmp_path: Path) -> None:
    ran, seconds = audit(tmp_path, "http://127.0.0.1:9", NAME)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.count("\n") == 1
    assert ran.stderr.startswith(
        f"recap: {NAME}: there is no such folder, nothing of that name in the hub's cache, and"
    )
    assert seconds < 60  # the rest is for starting on a busy machine; retries take minutes


def test_a_hub_that_takes_connections_and_says_nothing_is_not_waited_for(
    silent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", silent)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("recap.models.checkpoint.CONNECTING", 0.5)
    start = time.monotonic()
    with pytest.raises(RecapError, match=r"cannot be reached \(.*timed out\)"):
        LocalModel.load(NAME)
    assert time.monotonic() - start < 5


def test_without_a_connection_a_name_in_the_cache_is_loaded_from_there(tmp_path: Path, checkpoint: Path) -> None:
    fill_cache(tmp_path, checkpoint)
    ran, seconds = audit(tmp_path, "http://127.0.0.1:9", NAME)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.count("\n") == 1  # about the picture, which this processor crops; nothing about the hub
    assert ran.stderr.startswith("recap: the processor shows the model only")
    assert "Is the mug on the table?" in ran.stdout
    assert seconds < 60


def test_loading_prints_nothing(checkpoint: Path, capfd: pytest.CaptureFixture[str]) -> None:
    import transformers

    logging = transformers.utils.logging
    before = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.enable_progress_bar()
    try:
        LocalModel.load(str(checkpoint))
        assert logging.is_progress_bar_enabled()
    finally:
        logging.set_verbosity(before[0])
        if not before[1]:
            logging.disable_progress_bar()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("lacking", ["config.json", "tokenizer.json", "model.safetensors", "everything"])
def test_a_folder_without_a_file_is_one_line(checkpoint: Path, tmp_path: Path, lacking: str) -> None:
    folder = tmp_path / "half"
    folder.mkdir()
    for file in checkpoint.iterdir():
        if lacking not in (file.name, "everything"):
            shutil.copy(file, folder)
    with pytest.raises(RecapError, match=r"^half: ") as refused:
        LocalModel.load(str(folder))
    assert "\n" not in str(refused.value)
