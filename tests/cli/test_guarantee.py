"""Guarantees on the command line: a promise in the file and in words, a refusal that leaves nothing behind, a plan with its plot."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import recap
from recap.cli.main import app
from tests.simulate import ALIGNED, BIASED, SimulatedModel, simulate


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(each) for each in arguments])


@pytest.fixture
def table(tmp_path: Path) -> Path:
    recap.write_table(simulate(ALIGNED, 60, 1).rows, tmp_path / "table.jsonl")
    return tmp_path / "table.jsonl"


def test_calibrate_promises_or_names_what_it_could(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "policy.json"
    refused = run("calibrate", table, "--risk-at-most", "0.01", "--out", out)
    assert isinstance(refused.exception, recap.RecapError)
    assert "with these 60 units the smallest provable risk is" in str(refused.exception)
    assert not out.exists()
    told = run("calibrate", table, "--risk-at-most", "0.2", "--confidence", "0.8", "--out", out)
    assert told.exit_code == 0, told.output
    assert "promise    with 80 % confidence, at most 20 % of the accepted answers are wrong" in told.output
    assert json.loads(out.read_text())["guarantee"]["risk_at_most"] == 0.2
    decided = run("decide", table, "--policy", out, "--out", tmp_path / "decisions.jsonl")
    assert "with 80 % confidence, at most 20 %" in decided.stderr
    plain = run("calibrate", table, "--out", out)
    assert "promise    no guarantee" in plain.output


def test_the_utility_gate_says_by_how_much_and_how_surely(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "policy.json"
    told = run("calibrate", table, "--gate", "utility", "--out", out)
    assert "points (95 %:" in told.output
    policy = recap.load_policy(out)
    assert policy.utility is not None
    assert policy.mode == policy.utility.chosen.mode
    assert policy.utility.candidates[0].mode == "confidence"
    both = run("calibrate", table, "--gate", "utility", "--mode", "confidence", "--out", out)
    assert "the gate chooses the mode" in str(both.exception)


def test_plan_says_how_many_labels_and_draws_it(table: Path, tmp_path: Path) -> None:
    told = run("plan", table, "--risk-at-most", "0.2", "--units", "80", "--json", "--out", tmp_path / "plan.svg")
    assert told.exit_code == 0, told.output
    plan = json.loads(told.stdout)
    assert [step["units"] for step in plan["steps"]][-1] == 80
    assert plan["steps"][-1]["possible"] >= plan["steps"][0]["possible"]
    assert (tmp_path / "plan.svg").read_text().startswith("<svg")
    few = run("plan", table, "--risk-at-most", "0.2", "--units", "2")
    assert "units is 2" in str(few.exception)


def test_a_plan_is_for_the_mode_that_calibrate_takes() -> None:
    """The paper's gate, which calibrate has below 20 units only, would take another one here."""
    pilot = simulate(ALIGNED, 60, 1)
    assert recap.calibrate(pilot, coverage=0.8, gate="paper").mode == "recap-selector"
    taken = recap.calibrate(pilot, coverage=0.8).mode
    assert taken == recap.plan_labels(pilot, risk_at_most=0.2, units=20, progress=False).mode == "recap-img"


def test_ten_pictures_get_limits_that_are_honest(tmp_path: Path) -> None:
    recap.write_table(simulate(ALIGNED, 10, 1).rows, tmp_path / "ten.jsonl")
    told = run("evaluate", tmp_path / "ten.jsonl", "--splits", "8", "--json")
    assert told.exit_code == 0, told.output
    right = json.loads(told.stdout)["right"]["answers"]
    assert right["low"] < 0.7 < right["point"] < right["high"]
    calibrated = run("calibrate", tmp_path / "ten.jsonl", "--out", tmp_path / "p.json")
    assert "the smallest risk that these units could promise is" in calibrated.stderr


@pytest.mark.parametrize(
    ("model", "units", "outside", "seeds", "options"),
    [
        (ALIGNED, 10, 0.0, range(4), ()),
        (ALIGNED, 18, 0.9, range(4), ()),  # with a fallback, which is kept for some risks only
        (BIASED, 26, 0.0, range(6), ()),  # the share is accepted by a fitted mode, the promise made by another
        (ALIGNED, 29, 0.5, range(2), ("--mode", "probe-logit")),
        (ALIGNED, 28, 0.0, range(2), ("--mode", "confidence")),
        (ALIGNED, 28, 0.9, range(2), ("--gate", "utility")),
        (ALIGNED, 29, 0.0, range(2), ("--undecided",)),
    ],
    ids=lambda value: str(getattr(value, "name", value)),
)
def test_the_risk_that_could_be_promised_is_promised_and_nothing_below(
    model: SimulatedModel, units: int, outside: float, seeds: range, options: tuple[str, ...], tmp_path: Path
) -> None:
    table, out = tmp_path / "few.jsonl", tmp_path / "p.json"
    told = 0
    for seed in seeds:
        recap.write_table(simulate(model, units, seed, outside=outside).rows, table)
        aimed = run("calibrate", table, *options, "--out", out)
        assert aimed.exit_code == 0, aimed.output
        found = re.search(r"with 90 % confidence, the smallest risk .* could promise is ([\d.]+) \(", aimed.stderr)
        least = float(found[1]) if found else 1.0
        told += found is not None
        if found:
            granted = run("calibrate", table, *options, "--risk-at-most", found[1], "--out", out)
            assert granted.exit_code == 0, (seed, found[1], granted.exception)
        less = run("calibrate", table, *options, "--risk-at-most", f"{least - 0.002:.3f}", "--out", out)
        assert isinstance(less.exception, recap.RecapError), (seed, least)
        again = re.search(r"the smallest provable risk is ([\d.]+)", str(less.exception))
        assert (float(again[1]) if again else 1.0) == least, "a refusal names the same"
    assert told, "no table here can promise anything"
