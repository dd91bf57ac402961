"""A model on a GPU begins the next batch before it has answered the last; that changes no margin and loses none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from recap.claims import default_graph
from recap.images import open_image
from recap.models.contract import Request
from recap.models.local import LocalModel
from recap.models.scoring import LaunchedForward
from recap.probing import Item, ProbeRun, plan_job, run_job
from recap.store import Store
from tests.models.tiny import picture

TEXTS = ("The mug is left of the table.", "The mug is on the table.", "The mug is behind the table.")


@pytest.fixture
def items(tmp_path: Path) -> list[Item]:
    for i in range(6):
        picture(60 + 8 * i, 48, i).save(tmp_path / f"{i}.png")
    graph = default_graph()
    return [
        Item(f"{i}-{j}", "", str(i), str(tmp_path / f"{i}.png"), graph.parse(text).statement, None)
        for i in range(6)
        for j, text in enumerate(TEXTS)
    ]


class Noted:
    """A model whose turns are noted: b at its beginning, r when it is read."""

    def __init__(self, model: LocalModel, *, fails_at: int = -1) -> None:
        self.model, self.turns, self.fails_at = model, "", fails_at
        self.launches = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def begin(self, requests: list[Request], prepared: Any = None) -> Any:
        self.turns += "b"
        if self.turns.count("b") - 1 == self.fails_at:
            return prepared
        begun = self.model.begin(requests, prepared)
        assert isinstance(begun, LaunchedForward)
        return begun

    def margins(self, requests: list[Request], prepared: Any = None) -> list[list[float]]:
        self.turns += "r"
        return self.model.margins(requests, prepared)


def run(model: Any, items: list[Item]) -> ProbeRun:
    job = plan_job(items, "img", model.size, 200)
    assert len(job.batches) >= 4
    with Store(":memory:") as store:
        return run_job(job, model, store, open_image)


@pytest.mark.parametrize("fails_at", [-1, 0, 2])
def test_a_begun_batch_is_read_after_the_next_was_begun(items: list[Item], checkpoint: Path, fails_at: int) -> None:
    model = LocalModel.load(str(checkpoint), tokens=200, device="cpu")
    plain = run(model, items)
    noted = Noted(model, fails_at=fails_at)
    ahead = run(noted, items)
    assert ahead.margins == plain.margins
    assert ahead.forwards == plain.forwards == noted.turns.count("r")
    assert noted.turns == "b" + "br" * (noted.turns.count("b") - 1) + "r"


def test_what_is_under_way_is_kept_when_the_next_batch_cannot_be_prepared(items: list[Item], checkpoint: Path) -> None:
    model = LocalModel.load(str(checkpoint), tokens=200, device="cpu")
    noted, opened = Noted(model), list[str]()

    def opens(name: str) -> Any:
        opened.append(name)
        if len(opened) == 3:
            raise KeyboardInterrupt
        return open_image(name)

    job = plan_job(items, "img", model.size, 200)
    with Store(":memory:") as store:
        with pytest.raises(KeyboardInterrupt):
            run_job(job, noted, store, opens)
        again = run_job(job, model, store, open_image)
    assert noted.turns == "bbrr"
    assert again.found > 0
    assert again.found == sum(len(entry.probes) for batch in job.batches[:2] for entry in batch)


def test_a_cpu_computes_each_batch_in_its_turn(checkpoint: Path) -> None:
    model = LocalModel.load(str(checkpoint), tokens=200, device="cpu")
    assert not model.launches


def test_what_cannot_be_begun_is_computed_in_its_turn(
    items: list[Item], checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = LocalModel.load(str(checkpoint), tokens=200, device="cpu")
    plain = run(model, items)
    launch, calls = model.scorer.launch, list[int]()

    def launched(batch: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            raise RuntimeError("CUDA out of memory")
        return launch(batch)

    monkeypatch.setattr(model.scorer, "launch", launched)
    model.launches = True
    assert run(model, items).margins == plain.margins
