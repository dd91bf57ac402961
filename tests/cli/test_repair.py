"""Corrections and what cannot be told, on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import recap
from recap.cli.main import app
from tests.simulate import BIASED, simulate


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(each) for each in arguments])


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("repair") / "table.jsonl"
    recap.write_table(simulate(BIASED, 250, 1).rows, path)
    return path


def test_calibrate_decide_and_evaluate_correct_and_say_what_cannot_be_told(table: Path, tmp_path: Path) -> None:
    out, decisions = tmp_path / "policy.json", tmp_path / "decisions.jsonl"
    told = run("calibrate", table, "--repair", "--repair-at-most", "0.25", "--undecided", "--out", out)
    assert told.exit_code == 0, told.output
    assert "corrects   " in told.output
    share = recap.load_policy(out).coverage
    assert (
        f"for {share:.0%} coverage (within the threshold for the 80% asked for, answers that are corrected"
        in told.output
    )
    assert share < 0.8
    assert "undecided  cannot be told: " in told.output
    assert "corrections: with 90 % confidence, at most 25 % of the corrected answers are wrong" in told.output
    decided = run("decide", table, "--policy", out, "--out", decisions)
    lines = [json.loads(line) for line in decisions.read_text().splitlines()]
    words = {line["verdict"] for line in lines}
    assert {"accepted", "corrected", "cannot-be-told"} <= words
    made = sum(line["correction"] is not None for line in lines)
    assert f", {made} corrected, " in decided.stderr
    told = run(
        "evaluate",
        table,
        "--splits",
        "4",
        "--risk",
        "confidence",
        "--repair",
        "--repair-at-most",
        "0.4",
        "--undecided",
        "--json",
    )
    assert told.exit_code == 0, told.output
    found = json.loads(told.stdout)
    gain = found["repair"]["gain"]
    assert found["repair"]["promised"] > 0
    assert 0 < gain["low"] <= gain["point"] <= gain["high"]
    assert found["repair"]["after"] == pytest.approx(found["repair"]["before"] + gain["point"])
    assert found["undecided"]["right"] < found["undecided"]["right_of_others"]


@pytest.mark.parametrize("command", ["calibrate", "evaluate"])
def test_an_option_without_its_flag_is_one_line(table: Path, tmp_path: Path, command: str) -> None:
    told = run(
        command, table, "--repair-at-most", "0.1", *(("--out", tmp_path / "p.json") if command == "calibrate" else ())
    )
    assert "--repair-at-most belongs to --repair" in str(told.exception)


def test_a_promise_that_cannot_be_made_leaves_nothing_behind(table: Path, tmp_path: Path) -> None:
    told = run("calibrate", table, "--repair", "--repair-at-most", "0.001", "--out", tmp_path / "p.json")
    assert isinstance(told.exception, recap.RecapError)
    assert "smallest provable share is" in str(told.exception)
    assert not (tmp_path / "p.json").exists()
