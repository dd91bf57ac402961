"""Whatever a user gets wrong ends in one clear line, exit code 2, and nothing half-written."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recap.table import write_table
from tests.conftest import Ran
from tests.simulate import BIASED, simulate
from tests.tables import fields, random_rows, write

Recap = Callable[..., Ran]


def spoil(rows: list[dict[str, Any]], at: int, change: Callable[[dict[str, Any]], object]) -> list[dict[str, Any]]:
    change(rows[at])
    return rows


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def good() -> list[dict[str, Any]]:
    return random_rows(1, 40)


ONE_CLASS = [row | {"label": "yes"} for row in good()]
ONE_UNIT = [row | {"unit": "only"} for row in good()]

TABLES = {
    "truncated": (lines(good())[:-40], "not valid JSON"),
    "nan": (
        lines(spoil(good(), 4, lambda r: r["direct"].update(image=float("nan")))),
        ":5: direct.image is NaN or infinite",
    ),
    "infinite": (
        lines(spoil(good(), 6, lambda r: r["margins"]["image"].update({r["claim"]: float("inf")}))),
        ":7: margins.image.",
    ),
    "missing channel": (lines(spoil(good(), 3, lambda r: r["margins"].pop("image"))), ":4: "),
    "unknown relation": (lines(spoil(good(), 2, lambda r: r.update(relation="lefft_of"))), ":3: "),
    "unknown margin": (lines(spoil(good(), 2, lambda r: r["margins"]["image"].update(up=1.0))), ":3: "),
    "duplicate id": (lines([*good(), good()[0]]), "is a duplicate of line 1"),
    "one class": (lines(ONE_CLASS), 'every label inside the graph is "yes"'),
    "no labels": (lines([row | {"label": None} for row in good()]), "no row has a label"),
    "empty": ("", "the table is empty"),
    "single unit": (lines(ONE_UNIT), "unit"),
    "huge line": (lines([*good(), fields("z", subject="x" * 10_000_000)]), "longer than 1 MiB"),
    "binary": ("\x00\x01\x02\n", ":1: not valid JSON"),
    "not rows": ('["a"]\n', ":1: the row is not a JSON object"),
}


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("command", ["calibrate", "evaluate"])
def test_a_bad_table_ends_in_one_line(recap: Recap, tmp_path: Path, kind: str, command: str) -> None:
    text, problem = TABLES[kind]
    table, out = tmp_path / "table.jsonl", tmp_path / "out"
    table.write_text(text)
    ran = recap(command, table, "--out", out)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith("recap: ")
    assert ran.err.count("\n") == 1
    assert problem in ran.err
    if kind != "single unit" or command == "evaluate":
        assert str(table) in ran.err
    assert sorted(tmp_path.iterdir()) == [table]


@pytest.mark.parametrize("kind", ["truncated", "nan", "missing channel", "duplicate id", "huge line", "empty"])
def test_score_and_decide_write_nothing_for_a_bad_table(recap: Recap, tmp_path: Path, kind: str) -> None:
    table, policy = tmp_path / "table.jsonl", tmp_path / "policy.json"
    recap("calibrate", write(good(), tmp_path / "good.jsonl"), "--out", policy)
    table.write_text(TABLES[kind][0])
    before = sorted(tmp_path.iterdir())
    for arguments in (["score", table, "-r", "recap-img"], ["decide", table, "--policy", policy]):
        for out in ([], ["--out", tmp_path / "result.jsonl"]):
            ran = recap(*arguments, *out)
            assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1), ran.err
            assert str(table) in ran.err
    assert sorted(tmp_path.iterdir()) == before


def test_a_policy_of_another_graph(recap: Recap, tmp_path: Path) -> None:
    table, policy, graph = write(good(), tmp_path / "t.jsonl"), tmp_path / "p.json", tmp_path / "g.toml"
    builtin = Path(__file__).parents[2] / "src" / "recap" / "claims" / "graph.toml"
    graph.write_text(builtin.read_text().replace("above = 0.5", "above = 0.25"))
    assert recap("calibrate", table, "--graph", graph, "--out", policy).code == 0
    ran = recap("decide", table, "--policy", policy)
    assert (ran.code, ran.out) == (2, "")
    assert "calibrated with another relation graph" in ran.err
    assert recap("decide", table, "--policy", policy, "--graph", graph).code == 0
    assert recap("decide", table, "--policy", policy, "--force").code == 0


def test_a_policy_of_another_model(recap: Recap, tmp_path: Path) -> None:
    table, policy = tmp_path / "t.jsonl", tmp_path / "p.json"
    write_table(simulate(BIASED, 60, 1).rows, table)
    recap("calibrate", table, "--out", policy)
    other = tmp_path / "o.jsonl"
    other.write_text(table.read_text().replace("simulated-biased", "another"))
    ran = recap("decide", other, "--policy", policy)
    assert (ran.code, 'calibrated on model "simulated-biased"' in ran.err) == (2, True)


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([], "the table is empty"),
        ([fields("a", model="another")], 'calibrated on model "one", but'),
        ([fields("a", "near", model="one")], "every relation is outside the graph"),
        ([fields("a", margins={}, model="one")], "margins.image"),
    ],
)
def test_a_target_that_cannot_be_ranked_writes_no_policy(
    recap: Recap, tmp_path: Path, rows: list[dict[str, Any]], problem: str
) -> None:
    table = write([row | {"model": "one"} for row in good()], tmp_path / "t.jsonl")
    target = write(rows, tmp_path / "target.jsonl")
    ran = recap("calibrate", table, "--target-scores", target, "--out", tmp_path / "p.json")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert problem in ran.err
    assert str(target) in ran.err
    assert sorted(tmp_path.iterdir()) == [table, target]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["parse", "What is this?"], 'no spatial relation found in "What is this?"'),
        (["parse", ""], 'no spatial relation found in ""'),
        (["parse"], "give either one QUESTION or a --text"),
        (["score", "none.jsonl"], "none.jsonl: cannot read the table: no such file or directory"),
        (["score", "."], "cannot read the table: is a directory"),
        (["score", "t.jsonl", "--risk", "recap"], '"recap" is not a risk'),
        (["score", "t.jsonl", "--out", "no/such/dir/x.jsonl"], "cannot write: no such file or directory"),
        (["calibrate", "t.jsonl"], "Missing option '--out'"),
        (["calibrate", "t.jsonl", "--out", "p.json", "--coverage", "1.5"], "coverage is 1.5; it must lie in (0, 1]"),
        (["calibrate", "t.jsonl", "--out", "p.json", "--coverage", "most"], "Input should be a valid number"),
        (["calibrate", "t.jsonl", "--out", "p.json", "--mode", "best"], '"best" is not a mode'),
        (
            ["calibrate", "t.jsonl", "--out", "p.json", "--mode", "staged", "--first", "0.9"],
            "the first stage accepts 0.9",
        ),
        (["calibrate", "t.jsonl", "--out", "p.json", "--level", "1.5"], "level is 1.5"),
        (
            ["calibrate", "t.jsonl", "--out", "p.json", "--target-scores", "none.jsonl"],
            "none.jsonl: cannot read the table: no such file or directory",
        ),
        (["serve", "--upstream-timeout", "3"], "--upstream-timeout belongs to --upstream"),
        (["serve", "--upstream", "http://gpu:8000/v1"], "--upstream needs --model: real traffic is not audited by"),
        (["serve", "--upstream", "gpu:8000"], "--upstream is the address of a server, http://host:port/v1"),
        (["decide", "t.jsonl", "--policy", "t.jsonl"], "t.jsonl: "),
        (["decide", "t.jsonl", "--policy", "none.json"], "none.json: cannot read the policy: no such file"),
        (["evaluate", "t.jsonl", "--splits", "0"], "splits is 0; at least one is needed"),
        (["evaluate", "t.jsonl", "--graph", "t.jsonl"], "t.jsonl:1: not valid TOML"),
        (["evaluate", "t.jsonl", "--out", "t.jsonl"], "t.jsonl: cannot make the folder"),
        (["data", "stats", "vsr"], "vsr is read from a folder of yours: give --root DIR"),
        (["data", "stats", "nope"], '"nope" is not a dataset'),
        (
            ["data", "fetch", "whatsap"],
            'not a benchmark that can be fetched; did you mean "whatsup"? (vsr, whatsup, gsr)',
        ),
        (["data", "fetch", "vsr", "--mirror", "mirror"], 'the mirror is "mirror"; it must be an address'),
        (["data", "fetch", "vsr", "--limit", "0"], "Input should be greater than or equal to 1"),
        (["graph", "check", "none.toml"], "none.toml: cannot read the graph: no such file"),
        (["demo", "--groups", "3", "--out", "d"], "groups is 3; between 40 and 820 can be shown"),
        (["demo", "--out", "t.jsonl"], "t.jsonl"),
        (["data", "stats", "world:whatsap"], '"world:whatsap" is not a dataset; did you mean "world:whatsup"?'),
        (["audit", "world:whatsup/9999", "Is the mug on the table?"], '"world:whatsup/9999" is not a picture'),
        (
            ["audit", "world:nope/1", "Is the mug on the table?"],
            '"world:nope/1" is not a picture of the embedded world',
        ),
        (
            ["audit", "world:vsr/1", "Is the mug on the table?", "-m", "world:tilted"],
            '"world:tilted" is not a model of the',
        ),
        (["calibrate", "t.jsonl", "--out", "p.json", "--first", "0.5"], "--first belongs to --mode staged"),
        (["frobnicate"], "No such command 'frobnicate'"),
        (["parse", "x", "--frob"], "No such option"),
    ],
)
def test_a_wrong_word_ends_in_one_line(recap: Recap, tmp_path: Path, arguments: list[str], problem: str) -> None:
    write(good(), tmp_path / "t.jsonl")
    ran = recap(*arguments, cwd=tmp_path)
    assert (ran.code, ran.out) == (2, ""), ran.out
    assert problem in ran.err
    assert ran.err.count("\n") == 1
    assert "Traceback" not in ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["t.jsonl"]


def test_special_files_are_written_to_and_never_replaced(recap: Recap, tmp_path: Path) -> None:
    table = write(good(), tmp_path / "t.jsonl")
    link, real = tmp_path / "link.jsonl", tmp_path / "real.jsonl"
    link.symlink_to(real)
    assert recap("score", table, "-r", "confidence", "--out", link).code == 0
    assert link.is_symlink()
    assert real.read_text().startswith("{")
    assert recap("score", table, "-r", "confidence", "--out", "/dev/null").code == 0
    assert Path("/dev/null").is_char_device()
    streamed = recap("score", table, "-r", "confidence", "--out", "/dev/stdout")
    assert len(streamed.lines) == len(good())


@pytest.mark.parametrize("redirect", [">/dev/full", ">&-"])
def test_an_output_that_cannot_be_written_is_no_traceback(tmp_path: Path, redirect: str) -> None:
    table = write(good(), tmp_path / "t.jsonl")
    for words in (f"score {table} -r confidence", "graph show", f"evaluate {table} --splits 2"):
        ran = subprocess.run(
            f"{sys.executable} -m recap {words} {redirect}", shell=True, capture_output=True, text=True, check=False
        )
        assert "Traceback" not in ran.stderr
        assert ran.returncode in (0, 2)


def test_a_terminal_without_unicode_still_gets_json(tmp_path: Path, recap: Recap) -> None:
    table, policy = write(good(), tmp_path / "t.jsonl"), tmp_path / "p.json"
    recap("calibrate", table, "--out", policy)
    command = f"PYTHONIOENCODING=latin-1 {sys.executable} -m recap decide {table} --policy {policy}"
    ran = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert ran.returncode == 0
    assert ran.stderr.startswith("recap: no guarantee:")
    assert (
        "≤" in json.loads(ran.stdout.splitlines()[0])["reason"]
        or ">" in json.loads(ran.stdout.splitlines()[0])["reason"]
    )
