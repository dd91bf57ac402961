"""`recap reproduce` on the world and on stand-ins for the paper's models, as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Ran
from tests.paper.stand_ins import CHECKPOINTS, save_checkpoints, save_data

TIMED = {"runtime-summary", "own:runtime"}
"""tables of how long things took, which no seed fixes"""


CONSTANT = {
    ("own:direct-answer-stratified", "yes.err_auc"),  # a yes penalty cannot rank among equal answers
    ("own:direct-answer-stratified", "no.err_auc"),
    ("own:family-transfer", "left_right.eligible_n"),
    ("text:family-breakdown", "topology.n"),  # one benchmark has such statements, and both models are asked all
}
"""columns that hold one value in a complete run too"""


def reproduce(*arguments: object) -> Ran:
    command = [sys.executable, "-m", "recap", "reproduce", *map(str, arguments)]
    return Ran(subprocess.run(command, capture_output=True, text=True, timeout=1500, check=False))


def numbers(out: Path) -> dict[tuple[str, ...], Any]:
    document = json.loads((out / "numbers.json").read_text("utf-8"))
    found: dict[tuple[str, ...], Any] = {}
    for experiment in document["experiments"]:
        for table in experiment["tables"]:
            for n in table["numbers"]:
                place = (n["table"], n["model"], n["data"], n["method"], n["metric"])
                found[place] = (n["value"], n["spread"], n["paper"])
    return found


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--suite", "papr"), 'recap: "papr" is not a suite; did you mean "paper"? (world, paper, photo)'),
        (("--only", "mechansm"), 'recap: "mechansm" is not an experiment; did you mean "mechanism"?'),
        (("--suite", "paper"), "recap: suite paper reads the benchmarks from a folder of yours: give --data DIR"),
        (("--model", "qwen=x"), 'recap: "qwen" is not a model of suite world'),
        (("--model", "world:biased="), "recap: --model world:biased=: say where from"),
    ],
)
def test_what_cannot_be_meant_is_said_in_one_line(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    ran = reproduce(*arguments, "--out", tmp_path / "r")
    assert ran.code == 2
    assert ran.err.startswith(said)
    assert ran.err.count("\n") == 1
    assert not (tmp_path / "r").exists()


def test_the_experiments_can_be_listed() -> None:
    ran = reproduce("--list", "--json")
    assert len(ran.json) == 35
    assert ran.json[0]["name"] == "main-results"
    assert "makes supp-choice-score-comparison" in reproduce("--list").out


@pytest.mark.slow
def test_a_quick_run_is_complete_says_the_regimes_and_gives_the_same_numbers_again(tmp_path: Path) -> None:
    cold = reproduce("--quick", "--out", tmp_path / "a", "--store", tmp_path / "margins.db", "--json")
    assert cold.code == 0, cold.err
    assert cold.json["missing"] == {}
    assert len(cold.json["experiments"]) == 35
    assert cold.json["probes"]["from_store"] == 0
    found = numbers(tmp_path / "a")
    kept = {
        (model, data): found["text:main-results", f"world:{model}", data, "recap-selector", "eligible_n"][0]
        for model in ("aligned", "biased")
        for data in ("vsr", "whatsup")
    }
    assert min(kept["aligned", "vsr"], kept["aligned", "whatsup"]) > 10
    assert kept["biased", "whatsup"] == 0
    biased = next(f for f in cold.json["findings"]["main-results"] if f.startswith("world:biased on world:whatsup"))
    assert "relation evidence alone was chosen in 20 of 20 splits. RECAP helped:" in biased
    columns: dict[tuple[str, str], list[float | None]] = {}
    for (table, *_, metric), (value, _, _) in found.items():
        columns.setdefault((table, metric), []).append(value)
    assert [column for column, values in columns.items() if all(value is None for value in values)] == []
    one_value = {column for column, values in columns.items() if len(values) > 1 and len(set(values)) == 1}
    assert one_value == CONSTANT
    warm = reproduce("--quick", "--out", tmp_path / "b", "--store", tmp_path / "margins.db", "--json")
    assert warm.json["probes"]["computed"] == 0
    assert (tmp_path / "a" / "numbers.json").read_bytes() == (tmp_path / "b" / "numbers.json").read_bytes()
    assert warm.json["seconds"]["probing"] < cold.json["seconds"]["probing"] / 2


@pytest.mark.slow
def test_two_cold_runs_give_identical_numbers(tmp_path: Path) -> None:
    for name in ("a", "b"):
        ran = reproduce("--quick", "--only", "choice", "cross-auditor", "runtime", "--out", tmp_path / name)
        assert ran.code == 0, ran.err
    one, two = ({k: v for k, v in numbers(tmp_path / n).items() if k[0] not in TIMED} for n in ("a", "b"))
    assert one
    assert one == two


@pytest.mark.slow
def test_the_papers_suite_runs_end_to_end_on_stand_ins(tmp_path: Path, data: Path) -> None:
    models = save_checkpoints(tmp_path / "models")
    folder = save_data(tmp_path / "data", data, quick=True)
    named = [part for key in CHECKPOINTS for part in ("--model", f"{key}={models[key]}")]
    ran = reproduce("--suite", "paper", "--quick", "--data", folder, *named, "--out", tmp_path / "r", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["missing"] == {}
    found = numbers(tmp_path / "r")
    # Every number that the paper prints has one of ours beside it, but for the modes that other models are given.
    beside = {place for place, (_, _, paper) in found.items() if paper is not None}
    from recap.paper.printed import printed

    absent = {(p.table, p.model, p.data, p.method, str(p.metric)) for p in printed()} - beside
    assert {place[0] for place in absent} <= {"paired-bootstrap-gains"}
    page = (tmp_path / "r" / "report.html").read_text("utf-8")
    assert "Qwen3-VL-8B" in page
    assert "What&#39;sUp" in page


@pytest.mark.slow
def test_a_model_that_cannot_be_loaded_is_named_and_the_rest_goes_on(tmp_path: Path, data: Path) -> None:
    models = save_checkpoints(tmp_path / "models")
    folder = save_data(tmp_path / "data", data, quick=True)
    keys = ("qwen3-vl-8b", "internvl3.5-8b", "llava-1.5-7b")
    named = [part for key in keys[:1] for part in ("--model", f"{key}={models[key]}")]
    named += [part for key in keys[1:] for part in ("--model", f"{key}={tmp_path / 'nowhere'}")]
    arguments = ("--suite", "paper", "--quick", "--only", "choice", "--data", folder, "--out", tmp_path / "r")
    ran = reproduce(*arguments, *named, "--json")
    assert ran.code == 0, ran.err
    assert any("InternVL3.5-8B on What'sUp: the model cannot be loaded" in why for why in ran.json["missing"]["choice"])
    assert "Traceback" not in ran.err
