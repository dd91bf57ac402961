"""Tables as CSV, Parquet and data frames of four libraries: the same rows, bit by bit, whatever they went through."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recap
from recap import MarginTable, RecapError, read_table, write_table
from recap.table.frames import KINDS
from recap.table.io import append_table
from tests.tables import fields, random_rows, table_of

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def table() -> MarginTable:
    rows = random_rows(3, outside=0.2)
    rows[0] |= {"annotator": "ann", "unit": 'ünïcode, "quoted"\nline', "meta": {"split": "test", "years": [1, 2]}}
    rows[1] |= {"model": "m", "label": None, "id": "=1+1", "image": "'=a.jpg"}
    del rows[2]["direct"]["paraphrases"]
    rows[3]["margins"] = {"image": rows[3]["margins"].get("image", {})}
    return table_of(*rows)


def known(table: MarginTable) -> list[dict[str, Any]]:
    """Rows without the extra columns, whose types CSV does not know."""
    return [row.model_dump(exclude_none=True, include=set(type(row).model_fields)) for row in table.rows]


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".parquet"])
def test_a_file_of_any_ending_holds_the_same_rows(table: MarginTable, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"t{ending}"
    write_table(table.rows, path)
    read = read_table(path)
    assert known(read) == known(table)
    extra = read.rows[0].model_extra
    assert extra is not None
    assert extra["annotator"] == "ann"
    assert (extra["meta.split"] if ending == ".csv" else extra["meta"]["split"]) == "test"


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_of_any_library_holds_the_same_rows(table: MarginTable, kind: str) -> None:
    frame = table.to_frame(kind)
    assert known(MarginTable.from_frame(frame)) == known(table)


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), ending=st.sampled_from([".csv", ".parquet"]))
def test_margins_survive_to_the_last_bit(tmp_path_factory: pytest.TempPathFactory, seed: int, ending: str) -> None:
    table = table_of(*random_rows(seed, units=4, outside=0.3))
    path = tmp_path_factory.mktemp("t") / f"t{ending}"
    write_table(table.rows, path)
    assert known(read_table(path)) == known(table)


def test_struct_columns_are_read_as_dotted_ones_are(table: MarginTable, tmp_path: Path) -> None:
    write_table(table.rows, tmp_path / "t.parquet")
    for frame in (
        polars.read_parquet(tmp_path / "t.parquet"),
        polars.scan_parquet(tmp_path / "t.parquet"),
        pandas.read_parquet(tmp_path / "t.parquet"),
        pyarrow.parquet.read_table(tmp_path / "t.parquet"),
    ):
        assert known(MarginTable.from_frame(frame)) == known(table)


def test_what_people_have_in_pandas_is_enough() -> None:
    frame = pandas.DataFrame(
        {
            "id": [1, 2],
            "image": ["a.jpg", "b.jpg"],
            "relation": ["right_of", "near"],
            "label": [True, None],
            "direct.image": [1, -0.5],
            "margins.image.left_of": [0.5, float("nan")],
        }
    )
    first, second = MarginTable.from_frame(frame).rows
    assert (first.id, first.label, first.claim, first.direct.image) == ("1", "yes", "left_of", 1.0)
    assert (second.label, second.claim, second.margin("image", "left_of")) == (None, None, None)


def test_dots_in_columns_of_ones_own_mean_nothing(tmp_path: Path) -> None:
    rows = [fields("a", **{"score": 1.5, "score.std": 0.1})]
    write_table(table_of(*rows).rows, tmp_path / "t.parquet")
    [row] = read_table(tmp_path / "t.parquet").rows
    assert row.model_extra == {"score": 1.5, "score.std": 0.1}
    assert known(MarginTable.from_frame(table_of(*rows).to_frame())) == known(table_of(*rows))


def test_what_is_wrong_in_a_frame_is_named_by_its_row() -> None:
    rows = [fields("a"), fields("b", relation="left_of", claim="above")]
    with pytest.raises(RecapError, match=r"^frame:2: \"b\": claim is above"):
        MarginTable.from_frame(rows)
    with pytest.raises(RecapError, match="a frame is a DataFrame of polars or pandas, .* and this is a builtins.int"):
        MarginTable.from_frame(7)
    with pytest.raises(RecapError, match='"panda" is not a kind of frame; did you mean "pandas"'):
        table_of(fields("a")).to_frame("panda")


def test_a_library_that_is_absent_is_named_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(RecapError, match=re.escape("pandas is not installed: pip install 'recap-vlm[frames]'")):
        table_of(fields("a")).to_frame("pandas")


BAD = [
    ("id,relation,direct.image\na,left_of\n", "t.csv:2: 2 cells, and the first line names 3 columns"),
    ("id,id,relation\na,b,left_of\n", 't.csv:1: column "id" stands there twice'),
    ("id,image,relation,direct.image\na,a.jpg,left_of,often\n", 't.csv:2: direct.image is "often", which is no number'),
    ("id,image,relation,direct.image\na,a.jpg,left_of,nan\n", "t.csv:2: direct.image is NaN or infinite"),
    (
        "id,image,relation,direct,direct.image\na,a.jpg,left_of,1,2\n",
        't.csv:1: "direct.image" and "direct" cannot both',
    ),
    ("id,image,relation,lable\na,a.jpg,left_of,yes\n", 't.csv:2: "lable" is not a field; did you mean "label"'),
    ("id,image,relation\n", "t.csv: the table is empty"),
    ("", "t.csv: the table is empty"),
    ('id,image,relation\n"a,a.jpg,left_of\n', "t.csv:2: cannot read the table: unexpected end of data"),
]


@pytest.mark.parametrize(("text", "message"), BAD)
def test_a_bad_csv_is_one_line(text: str, message: str, tmp_path: Path, recap: Run) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(RecapError) as raised:
        read_table(tmp_path / "t.csv")
    assert message in str(raised.value)


def test_a_spreadsheet_that_writes_decimal_commas_is_read(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "id;image;relation;claim;label;direct.image\n007;a.jpg;left_of;;Yes;0,5\n", "utf-8-sig"
    )
    [row] = read_table(tmp_path / "t.csv").rows
    assert (row.id, row.label, row.claim, row.direct.image) == ("007", "yes", "left_of", 0.5)


def test_every_command_reads_and_writes_by_the_ending(tmp_path: Path, recap: Run) -> None:
    write_table(table_of(*random_rows(1, units=40)).rows, tmp_path / "t.csv")
    assert recap("calibrate", tmp_path / "t.csv", "--out", tmp_path / "p.json").code == 0
    decided = recap("decide", tmp_path / "t.csv", "--policy", tmp_path / "p.json", "--out", tmp_path / "d.csv")
    assert decided.code == 0, decided.err
    with (tmp_path / "d.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert {"id", "accepted", "risk", "threshold", "witness.kind", "reason"} - set(rows[0]) <= {"witness.kind"}
    assert {row["accepted"] for row in rows} == {"true", "false"}
    scored = recap("score", tmp_path / "t.csv", "--risk", "confidence", "--out", tmp_path / "s.parquet")
    assert scored.code == 0, scored.err
    assert len(polars.read_parquet(tmp_path / "s.parquet")) == len(rows)
    assert recap("table", "convert", tmp_path / "t.csv", tmp_path / "t.jsonl").code == 0
    assert known(read_table(tmp_path / "t.jsonl")) == known(read_table(tmp_path / "t.csv"))


def test_statements_may_stand_in_a_csv(tmp_path: Path) -> None:
    from recap.datasets import load_dataset

    (tmp_path / "mine.csv").write_text("id,image,question,label\n12,a.jpg,Is the mug on the table?,TRUE\n")
    polars.DataFrame(
        {"id": [12], "image": ["a.jpg"], "question": ["Is the mug on the table?"], "label": ["yes"]}
    ).write_parquet(tmp_path / "mine.parquet")
    for ending in (".csv", ".parquet"):
        [item] = load_dataset(str(tmp_path / f"mine{ending}")).items
        assert (item.id, item.label, item.statement.relation) == ("12", "yes", "on")


def test_objects_are_short_to_look_at(table: MarginTable) -> None:
    labelled = table_of(*random_rows(1, units=60))
    policy, evaluation = recap.calibrate(labelled), recap.evaluate(labelled, splits=2, progress=False)
    comparison = recap.compare(labelled, risks=["confidence", "recap-img"], draws=20)
    for each in (table, policy, evaluation, comparison, evaluation.risks["recap"], labelled.graph):
        assert len(repr(each)) < 400
        assert type(each).__name__ in repr(each)
    for each in (table, policy, evaluation, comparison):
        html = each._repr_html_()
        assert "<table>" in html
        assert len(html) < 20_000
    assert "<script>" not in table_of(fields("<script>")).__class__._repr_html_(table_of(fields("<script>")))


def test_nobody_writes_into_a_tables_columns() -> None:
    table = table_of(*random_rows(6))
    for column in (table.direct("image"), table.yes, table.units, table.where(table.yes).direct("image")):
        with pytest.raises(ValueError, match="read-only"):
            column[:] = 0


def test_rows_are_added_behind_a_line_that_an_editor_left_open(tmp_path: Path) -> None:
    rows = table_of(*random_rows(3)).rows
    write_table(rows[:2], tmp_path / "t.jsonl")
    (tmp_path / "t.jsonl").write_bytes((tmp_path / "t.jsonl").read_bytes().rstrip(b"\n"))
    append_table(rows[2:], tmp_path / "t.jsonl")
    assert read_table(tmp_path / "t.jsonl").rows == rows
