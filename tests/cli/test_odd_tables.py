"""Tables that are odd but plausible, through every way to calibrate: a policy that decides, or one line. Nothing half-written."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import recap
from recap.cli.main import app
from recap.errors import RecapWarning
from recap.table import Row
from tests.simulate import ALIGNED, simulate


def run(*words: object) -> Result:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", RecapWarning)
        return CliRunner().invoke(app, list(map(str, words)))


def units(rows: Sequence[Row], many: int) -> list[Row]:
    names = list(dict.fromkeys(row.unit for row in rows))[:many]
    return [row for row in rows if row.unit in names]


def labelled(rows: Sequence[Row], right: bool) -> list[Row]:
    return [row.model_copy(update={"label": "yes" if row.says_yes == right else "no"}) for row in rows]


def alike(row: Row) -> Row:
    flat = {name: dict.fromkeys(margins or {}, 1.0) for name, margins in row.margins.items()}
    return row.model_copy(update={"direct": row.direct.model_copy(update={"image": 1.0}), "margins": flat})


ODD: dict[str, Callable[[Sequence[Row]], list[Row]]] = {
    "three pictures": lambda rows: units(rows, 3),
    "four pictures": lambda rows: units(rows, 4),
    "all right": lambda rows: labelled(rows, True),
    "all wrong": lambda rows: labelled(rows, False),
    "one family": lambda rows: [row for row in rows if row.relation in ("left_of", "right_of")],
    "one row of another family": lambda rows: [
        *[row for row in rows if row.relation in ("left_of", "right_of")],
        *[row for row in rows if row.relation == "on"][:1],
    ],
    "outside the graph": lambda rows: [row for row in rows if row.claim is None],
    "one picture": lambda rows: [row.model_copy(update={"unit": "u"}) for row in rows],
    "one large picture": lambda rows: [
        row.model_copy(update={"unit": "u"}) if n % 2 else row for n, row in enumerate(rows)
    ],
    "margins all alike": lambda rows: list(map(alike, rows)),
    "answers of another": lambda rows: [
        row.model_copy(update={"answer": "no" if row.says_yes else "yes"}) for row in rows
    ],
    "direct margins alone": lambda rows: [row.model_copy(update={"margins": {}}) for row in rows],
}
WAYS = (
    "", "--risk-at-most 0.3", "--risk-at-most 0.3 --per family",
    "--risk-at-most 0.3 --of hallucination --repair --undecided", "--repair --repair-at-most 0.5 --undecided --mode confidence",
    "--mode staged", "--mode probe-logit", "--mode logit-hall --risk-at-most 0.3",
)  # fmt: skip


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_table_gives_a_policy_or_one_line(odd: str, tmp_path: Path) -> None:
    rows = simulate(ALIGNED, 30, 1, outside=0.3).rows
    table, fresh, policy = tmp_path / "odd.jsonl", tmp_path / "fresh.jsonl", tmp_path / "policy.json"
    recap.write_table(ODD[odd](rows), table)
    recap.write_table([row.model_copy(update={"label": None}) for row in units(rows, 1)], fresh)
    for way in WAYS:
        policy.unlink(missing_ok=True)
        told = run("calibrate", table, *way.split(), "--out", policy)
        if told.exit_code == 0:
            for command in ("decide", "queue"):
                after = run(command, fresh, "--policy", policy)
                lacking = odd == "direct margins alone"
                assert after.exit_code == 0 or (lacking and isinstance(after.exception, recap.RecapError)), (way, after)
        else:
            assert isinstance(told.exception, recap.RecapError), (way, told.exception)
            assert not policy.exists()
            assert "damaged" not in str(told.exception)


def test_where_all_are_wrong_it_is_not_said_that_units_are_too_few(tmp_path: Path) -> None:
    recap.write_table(labelled(simulate(ALIGNED, 60, 1).rows, False), tmp_path / "t.jsonl")
    told = run("calibrate", tmp_path / "t.jsonl", "--risk-at-most", "0.3", "--out", tmp_path / "p.json")
    assert "no risk below 1 is provable: too few, or too many are bad" in str(told.exception)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("--units 1000000000", "units is 1000000000; it must lie between 4 and 20000"),
        ("--units 30 --of nonsense", '"nonsense" is not an event'),
        ("--units 30 --mode staged", '"staged" is not a mode that can be planned with'),
        ("--units 30 --mode probe-logit", '"probe-logit" is not a mode that can be planned with'),
        ("--units 30 --confidence 1", "confidence is 1; it must lie strictly between 0 and 1"),
        ("--units 30 --out /proc/plan.svg", "/proc/plan.svg: cannot write"),
    ],
)
def test_a_plan_for_what_cannot_be_asked_is_refused_and_not_drawn(tmp_path: Path, words: str, problem: str) -> None:
    recap.write_table(simulate(ALIGNED, 10, 1).rows, tmp_path / "t.jsonl")
    told = run("plan", tmp_path / "t.jsonl", "--risk-at-most", "0.3", *words.split())
    assert isinstance(told.exception, recap.RecapError)
    assert problem in str(told.exception)


def test_the_smallest_coverage_accepts_one_answer(tmp_path: Path) -> None:
    recap.write_table(simulate(ALIGNED, 30, 1).rows, tmp_path / "t.jsonl")
    told = run("calibrate", tmp_path / "t.jsonl", "--coverage", "1e-300", "--out", tmp_path / "p.json")
    assert told.exit_code == 0, told.exception
    assert "accepts    1 of these" in told.output


@pytest.mark.parametrize("coverage", ["nan", "inf", "0"])
def test_a_coverage_that_is_none_is_refused_before_anything_is_compared(tmp_path: Path, coverage: str) -> None:
    recap.write_table(simulate(ALIGNED, 30, 1).rows, tmp_path / "t.jsonl")
    told = run("calibrate", tmp_path / "t.jsonl", "--coverage", coverage, "--out", tmp_path / "p.json")
    assert "it must lie in (0, 1]" in str(told.exception)


@pytest.mark.parametrize("place", ["/proc/table.jsonl", "no/such/folder/table.jsonl"])
def test_a_table_that_could_not_be_written_is_refused_before_a_model_is_loaded(place: str) -> None:
    told = run("probe", "world:whatsup", "--model", "no-such/model", "--out", place)
    assert str(told.exception) == f"{place}: cannot write: no such file or directory"


def test_a_table_without_a_mistake_says_what_cannot_be_told(tmp_path: Path) -> None:
    right = simulate(ALIGNED, 12, 1).rows
    rows = [row.model_copy(update={"label": "yes" if row.says_yes else "no"}) for row in right]
    recap.write_table(rows, tmp_path / "right.jsonl")
    told = run("calibrate", tmp_path / "right.jsonl", "--out", tmp_path / "p.json")
    assert told.exit_code == 0, told.output
    assert "confidence Hall-AUC cannot be told" in told.output
    assert "may be 0.000" not in told.output


@pytest.mark.parametrize("value", ["0", "1"])
@pytest.mark.parametrize(
    ("option", "more"),
    [("--risk-at-most", ()), ("--level", ()), ("--confidence", ("--repair",)), ("--repair-at-most", ("--repair",))],
)
def test_what_excludes_its_ends_says_so(tmp_path: Path, option: str, more: tuple[str, ...], value: str) -> None:
    recap.write_table(simulate(ALIGNED, 12, 1).rows, tmp_path / "t.jsonl")
    told = run("calibrate", tmp_path / "t.jsonl", option, value, *more, "--out", tmp_path / "p.json")
    assert f"{option.strip('-')} is {value}; it must lie strictly between 0 and 1" in str(told.exception)
