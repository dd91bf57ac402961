"""A question that a real model cannot answer: its picture is set aside and named, and the rest of the run goes on."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install 'recap-vlm[local]'")

import torch
from safetensors.torch import load_file, save_file

import recap
from recap.errors import RecapError
from recap.models.contract import Request
from recap.models.local import LocalModel
from recap.probes import View
from recap.probing.batch import KnownMargins
from recap.probing.cluster.worker import Worker, WorkerError, WorkerResult
from recap.probing.job import Entry
from recap.store import Store
from recap.table import read_table
from tests.conftest import Ran
from tests.models.tiny import picture

BAD = "3.png"


def failing(checkpoint: Path, on: Path, act: Callable[[Any], Any], **options: Any) -> LocalModel:
    """A real model in whose forward something happens whenever one picture is among those shown."""
    model = LocalModel.load(str(checkpoint), dtype="float32", **options)
    image = recap.images.open_image(str(on))
    wanted = model.prompter.together([Request(image, ("Is the mug on the table?",))]).vision["pixel_values"][0]

    def look(_module: Any, args: Any, given: dict[str, Any]) -> Any:
        shown = given.get("pixel_values")
        changed = [] if shown is None else [act(each) if torch.equal(each, wanted) else each for each in shown]
        return args, given | ({"pixel_values": torch.stack(changed)} if changed else {})

    model.scorer.body.register_forward_pre_hook(look, with_kwargs=True)
    return model


def out_of_memory(_pixels: Any) -> Any:
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")


def out_of_memory_on_a_cpu(_pixels: Any) -> Any:
    raise RuntimeError("[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory: you tried to")


def not_a_number(pixels: Any) -> Any:
    return pixels * math.nan


@pytest.mark.parametrize("act", [out_of_memory, out_of_memory_on_a_cpu, not_a_number])
@pytest.mark.parametrize("plain", [False, True], ids=["tree", "plain"])
def test_the_picture_is_set_aside_and_the_rest_goes_on(
    checkpoint: Path, dataset: Path, tmp_path: Path, act: Callable[[Any], Any], plain: bool
) -> None:
    bad, store, out = dataset.parent / BAD, tmp_path / "s.db", tmp_path / "t.jsonl"
    model = failing(checkpoint, bad, act, plain=plain)
    found = recap.probe(dataset, model, store=store, out=out, probes="cal", progress=False)
    assert list(found.failed_images) == [str(bad)]
    why = found.failed_images[str(bad)]
    assert why.startswith(f"{bad}: ")
    assert '"Is the mug' in why
    assert ("out of memory" in why) == (act is not not_a_number)
    assert ("nan, no number" in why) == (act is not_a_number)
    assert found.to_json()["failed_images"] == 1
    rows = read_table(out).rows
    assert len(rows) == 20
    assert {row.image for row in rows} == {f"{i}.png" for i in range(6)} - {BAD}
    whole = recap.probe(dataset, LocalModel.load(str(checkpoint), dtype="float32", plain=plain), progress=False)
    right = {row.id: row.direct.image for row in whole.rows}
    for row in rows:
        assert row.direct.image == pytest.approx(right[row.id], abs=1e-4)
    # Memory was short for once: the next run asks what is missing, and the table is whole.
    again = recap.probe(
        dataset,
        LocalModel.load(str(checkpoint), dtype="float32", plain=plain),
        store=store,
        probes="cal",
        progress=False,
    )
    assert len(again.rows) == 24
    assert again.ran.found > 0


@pytest.mark.parametrize("act", [out_of_memory, not_a_number])
def test_an_audit_says_so_in_one_line(checkpoint: Path, dataset: Path, act: Callable[[Any], Any]) -> None:
    bad, good = dataset.parent / BAD, dataset.parent / "1.png"
    auditor = recap.Auditor(failing(checkpoint, bad, act))
    with pytest.raises(RecapError, match=rf'{BAD}: .*"Is the mug on the table\?"'):
        auditor.audit(bad, "Is the mug on the table?")
    assert auditor.audit(good, "Is the mug on the table?").probes


def test_neighbours_that_an_overflow_spoiled_are_asked_again(checkpoint: Path, dataset: Path) -> None:
    """In a packed row, masked places weigh nothing, and nothing times NaN is NaN."""
    model = failing(checkpoint, dataset.parent / BAD, not_a_number)
    real = model.scorer.tree

    def spoiling(prompted: Any) -> list[list[float]]:
        rows = real(prompted)
        spoiled = any(math.isnan(margin) for row in rows for margin in row)
        return [[math.nan] * len(row) for row in rows] if spoiled else rows

    model.scorer.tree = spoiling  # type: ignore[method-assign]
    found = recap.probe(dataset, model, progress=False)
    assert list(found.failed_images) == [str(dataset.parent / BAD)]
    assert len(found.rows) == 20


def test_a_worker_sets_it_aside_too(checkpoint: Path, dataset: Path) -> None:
    bad = dataset.parent / BAD
    worker = Worker(partial(failing, checkpoint, bad, out_of_memory))
    batch = tuple(Entry(str(dataset.parent / f"{i}.png"), View.IMAGE, ("Is the mug on the table?",)) for i in range(6))
    found = pickle.loads(worker({"number": 0, "work": pickle.dumps((batch, KnownMargins()))})["result"])
    assert isinstance(found, WorkerResult)
    assert list(found.result.failed) == [str(bad)]
    assert len(found.result.margins) == 5


def test_without_a_picture_there_is_nothing_to_set_aside(checkpoint: Path) -> None:
    def spoil(_module: Any, _args: Any, output: Any) -> None:
        output.last_hidden_state.fill_(math.nan)

    def load() -> LocalModel:
        model = LocalModel.load(str(checkpoint), dtype="float32")
        model.scorer.body.register_forward_hook(spoil)
        return model

    batch = (Entry(None, View.TEXT, ("Is the mug on the table?", "Is the cup above the plate?")),)
    found = pickle.loads(Worker(load)({"number": 0, "work": pickle.dumps((batch, KnownMargins()))})["result"])
    assert isinstance(found, WorkerError)
    assert 'the margin of "Is the mug on the table?" is nan, no number' in found.message


def test_other_mistakes_are_not_taken_for_it(checkpoint: Path, dataset: Path) -> None:
    def broken(_pixels: Any) -> Any:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        recap.probe(dataset, failing(checkpoint, dataset.parent / BAD, broken), progress=False)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_the_store_never_keeps_what_is_no_number(tmp_path: Path, value: float) -> None:
    with Store(tmp_path / "s.db") as store:
        with pytest.raises(RecapError, match="not a number"):
            store.put({b"a": 1.0, b"b": value})
        assert len(store) == 0


@pytest.mark.parametrize("command", ["audit", "probe"])
def test_a_checkpoint_with_broken_weights_ends_in_lines_that_name_pictures(
    recap: Callable[..., Ran], checkpoint: Path, dataset: Path, tmp_path: Path, command: str
) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    for file in checkpoint.iterdir():
        (broken / file.name).write_bytes(file.read_bytes())
    weights = dict(load_file(broken / "model.safetensors"))
    norm = next(name for name in weights if name.endswith("model.norm.weight"))
    weights[norm] = weights[norm] * math.nan
    save_file(weights, broken / "model.safetensors", metadata={"format": "pt"})
    picture(40, 30, 1).save(tmp_path / "odd.png")
    (tmp_path / "one.jsonl").write_text(json.dumps({"image": "odd.png", "question": "Is the mug on the table?"}) + "\n")
    what = {
        "audit": [str(tmp_path / "odd.png"), "Is the mug on the table?"],
        "probe": [str(tmp_path / "one.jsonl"), "--out", str(tmp_path / "t.jsonl"), "--store", str(tmp_path / "s.db")],
    }
    ran = recap(command, *what[command], "--model", str(broken))
    assert (ran.code, ran.out) == (2, "")
    assert 'odd.png: the margin of "Is the mug on the table?" is nan, no number' in ran.err
    assert "Traceback" not in ran.err
    assert not (tmp_path / "t.jsonl").exists()
    if command == "probe":
        with Store(tmp_path / "s.db") as store:
            assert len(store) == 0
