"""Comparing models and risks: the figures of plain calculation, pairs that cancel, and limits that resampling gives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from typer.testing import CliRunner

import recap
from recap import RecapError, compute_risk, write_table
from recap.cli.main import app
from recap.evaluation import METRICS
from recap.evaluation.protocol import evaluate
from recap.statistics import DRAWS, SEED
from tests.tables import random_rows, table_of

Run = Callable[..., Any]


def two() -> tuple[recap.MarginTable, recap.MarginTable]:
    """Two models' margins for the same statements."""
    rows = random_rows(5, units=60)
    rng = np.random.default_rng(0)
    other: list[dict[str, Any]] = []
    for row in rows:
        noise = float(rng.normal(scale=1.5))
        margins = {c: {r: m + float(rng.normal()) for r, m in some.items()} for c, some in row["margins"].items()}
        other.append(
            {
                **row,
                "answer": None,
                "direct": row["direct"] | {"image": row["direct"]["image"] + noise},
                "margins": margins,
            }
        )
    return table_of(*rows), table_of(*other)


def test_figures_and_intervals_are_those_of_a_plain_loop() -> None:
    one, other = two()
    found = recap.compare(one, other, risks=["recap-img"], draws=50)
    answers, contrast = found.contrasts
    risks = [compute_risk(each, "recap-img") for each in (one, other)]
    wrong = [each.yes != each.positive for each in (one, other)]
    units = one.units

    def auc(side: int, rows: np.ndarray) -> float:
        return float(roc_auc_score(wrong[side][rows], risks[side][rows]))

    everyone = np.arange(len(one))
    assert contrast.figures[0]["err_auc"] == pytest.approx(auc(0, everyone), abs=1e-12)
    assert answers.gains["acc"].point == pytest.approx(wrong[0].mean() - wrong[1].mean(), abs=1e-12)
    # The documented draws: units with replacement from this generator, all rows of a unit as often as it is drawn.
    rng = np.random.default_rng(SEED)
    picked = rng.integers(0, units.max() + 1, size=(50, units.max() + 1))
    differences, shares = [], []
    for draw in picked:
        rows = np.concatenate([np.flatnonzero(units == unit) for unit in draw])
        differences.append(auc(1, rows) - auc(0, rows))
        shares.append(wrong[0][rows].mean() - wrong[1][rows].mean())
    for gain, drawn in ((contrast.gains["err_auc"], differences), (answers.gains["acc"], shares)):
        assert (gain.low, gain.high) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])), abs=1e-12)


def test_a_table_has_no_gain_over_itself() -> None:
    one, _ = two()
    for contrast in recap.compare(one, one, draws=20).contrasts:
        for gain in contrast.gains.values():
            assert (gain.point, gain.low, gain.high) == (0, 0, 0)


def test_two_risks_of_one_table_are_the_protocols_gains() -> None:
    one, _ = two()
    [contrast] = recap.compare(one, risks=["confidence", "recap-img"]).contrasts
    gains = evaluate(one, splits=1, progress=False).gains["recap-img"]
    for metric, gain in contrast.gains.items():
        assert metric in METRICS
        assert vars(gain) == pytest.approx(vars(gains[metric]))
    assert DRAWS == 1000


def test_rows_are_matched_by_id_in_any_order_and_labels_of_either_count() -> None:
    one, other = two()
    rows = list(reversed(other.rows))[5:]
    shuffled = recap.MarginTable(tuple(row.model_copy(update={"label": None}) for row in rows), one.graph, "b.jsonl")
    found = recap.compare(one, shuffled, risks=["confidence"], draws=20)
    kept = {row.id for row in rows}
    same = recap.compare(
        one.where(np.array([row.id in kept for row in one.rows])),
        other.where(np.array([row.id in kept for row in other.rows])),
        risks=["confidence"],
        draws=20,
    )
    assert found.left_out == {"table": 5}
    assert list(found.records()) == list(same.records())


def test_tables_about_different_things_are_refused() -> None:
    one, other = two()
    flipped = [row.model_copy(update={"label": "no" if row.label == "yes" else "yes"}) for row in other.rows]
    with pytest.raises(
        RecapError, match='label is "(yes|no)", but "(yes|no)" in table.jsonl; the tables are not about'
    ):
        recap.compare(one, recap.MarginTable(tuple(flipped), one.graph, "b.jsonl"))
    renamed = [row.model_copy(update={"id": f"x{row.id}"}) for row in other.rows]
    with pytest.raises(RecapError, match="have no id in common"):
        recap.compare(one, recap.MarginTable(tuple(renamed), one.graph, "b.jsonl"))
    with pytest.raises(RecapError, match="give two tables, or two risks of one"):
        recap.compare(one, risks=["confidence"])
    with pytest.raises(RecapError, match="is fitted on calibration rows"):
        recap.compare(one, other, risks=["conf-anslogit"])


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    for name, table in zip(("a.jsonl", "b.csv"), two(), strict=True):
        write_table(table.rows, folder / name)
    return folder


def test_the_command_prints_for_people_and_programs(files: Path, recap: Run) -> None:
    shown = recap("compare", "a.jsonl", "b.csv", "--draws", 50, cwd=files)
    assert shown.code == 0, shown.err
    assert "gain (60 units)" in shown.out
    assert "recap-selector, b" in shown.out
    document = recap(
        "compare", "a.jsonl", "b.csv", "--risk", "confidence", "recap-img", "--draws", 50, "--json", cwd=files
    ).json
    assert {each["first"] for each in document["contrasts"]} == {"answers", "confidence", "recap-img"}
    latex = recap(
        "compare", "a.jsonl", "--risk", "confidence", "recap-img", "--draws", 50, "--format", "latex", cwd=files
    )
    assert latex.out.count(r"\begin{tabular}{lrrrr}") == 1, latex.err
    lines = recap(
        "compare", "a.jsonl", "b.csv", "--risk", "confidence", "--draws", 50, "--format", "csv", cwd=files
    ).out.splitlines()
    assert lines[0].startswith("first,second,metric,n,units,first_value")
    assert len(lines) == 1 + 2 + 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a.jsonl", "--format", "html"), '"html" is not a format (csv, latex, markdown)'),
        (("a.jsonl", "b.csv", "--format", "csv", "--json"), "give --json or --format"),
        (("a.jsonl", "missing.jsonl"), "missing.jsonl: cannot read the table"),
        (("a.jsonl", "b.csv", "c.jsonl"), "two tables are compared, and these are more: c.jsonl"),
        (("a.jsonl",), "give two tables, or two risks of one"),
        (("a.jsonl", "b.csv", "--risk", "recap-image"), '"recap-image" is not a risk; did you mean "recap-img"?'),
        (("a.jsonl", "b.csv", "--coverage", "2"), "coverage is 2; it must lie in (0, 1]"),
    ],
)
def test_bad_input_is_one_line(files: Path, recap: Run, arguments: tuple[str, ...], message: str) -> None:
    ran = recap("compare", *arguments, cwd=files)
    assert ran.code == 2
    assert message in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    ("form", "holds"),
    [("csv", "pool,risk,n,coverage,coverage_std"), ("latex", r"\toprule"), ("markdown", "|---|---:|")],
)
def test_an_evaluation_is_printed_in_every_format(files: Path, form: str, holds: str) -> None:
    ran = CliRunner().invoke(app, ["evaluate", str(files / "a.jsonl"), "--splits", "2", "--format", form])
    assert ran.exit_code == 0, ran.output
    assert holds in ran.stdout
    assert "recap-img" in ran.stdout


def test_what_is_wrong_with_the_rows_in_common_is_not_said_of_the_tables(tmp_path: Path) -> None:
    rows = random_rows(5, units=60)
    assert {row["label"] for row in rows} == {"yes", "no"}
    other = rows[:1] + [{**row, "id": f"other {row['id']}"} for row in rows[1:]]
    for name, some in (("a", rows), ("b", other)):
        write_table(table_of(*some).rows, tmp_path / f"{name}.jsonl")
    with pytest.raises(RecapError) as raised:
        recap.compare(tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    only = rows[0]["label"]
    assert str(raised.value) == (
        f"{tmp_path / 'a.jsonl'} and {tmp_path / 'b.jsonl'} have 1 row in common by id, and of those: every label inside "
        f'the graph is "{only}"; both labels are needed'
    )


def test_names_of_files_are_no_markup_in_any_form(tmp_path: Path, recap: Run) -> None:
    rows = random_rows(5, units=60)
    names = ("[draft] a|<b>_%", "[bold]m[/bold" + chr(0x1B))
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        write_table(table_of(*rows).rows, (tmp_path / name).with_name((tmp_path / name).name + ".jsonl"))
    files = [f"{name}.jsonl" for name in names]
    latex = recap("compare", *files, "--draws", 20, "--format", "latex", cwd=tmp_path)
    assert latex.code == 0, latex.err
    assert "\n{}[draft] a\\textbar{}\\textless{}b\\textgreater{}\\_\\% & " in latex.out
    assert "\n[" not in latex.out
    plain = recap("compare", *files, "--draws", 20, cwd=tmp_path)
    assert plain.code == 0, plain.err
    assert "over [draft] a|<b>_%" in " ".join(plain.out.split())
    for ran in (latex, plain, recap("compare", *files, "--draws", 20, "--format", "markdown", cwd=tmp_path)):
        assert chr(0x1B) not in ran.out
    table = recap("compare", *files, "--draws", 20, "--format", "csv", cwd=tmp_path)
    assert "-0.0" not in table.out


def test_numbers_below_zero_have_a_minus_in_latex() -> None:
    from recap.tabular import Tabular

    made = Tabular("t", ("", "x"), (("recap-img 2-3", "-0.5 [-1.0, +.5]"),)).to_latex()
    assert "recap-img 2-3 & $-$0.5 [$-$1.0, +.5]" in made
