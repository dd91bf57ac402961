"""Names of models that lead nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from recap.errors import RecapError
from recap.models.load import load_model


@pytest.mark.parametrize("name", ["/no/such/model", "./model", "../model", "~/model", "no/such/model"])
def test_a_path_that_leads_nowhere_is_not_looked_for_on_the_hub(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("a connection was tried"))
    with pytest.raises(RecapError) as refused:
        load_model(name)
    told = f"{name}: there is no such folder (a name on the hub looks like Qwen/Qwen3-VL-8B-Instruct)"
    assert str(refused.value) == told


def test_a_hub_name_is_one_though_a_folder_is_named_like_its_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    (tmp_path / "owner").mkdir()
    with pytest.raises(
        RecapError, match="^owner/name: there is no such folder, nothing of that name in the hub's cache, and "
    ):
        load_model("owner/name")
