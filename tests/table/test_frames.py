"""Tables as CSV, Parquet and data frames of four libraries: the same rows, bit by bit, whatever they went through."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
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
    (
        "id,image,relation,direct.image,direct.paraphrases.0,direct.paraphrases.1,direct.paraphrases.2\n"
        "a,a.jpg,left_of,1,.1,.2,.3\nb,a.jpg,left_of,1,.1,,.3\n",
        "t.csv:3: direct.paraphrases.1 is missing, though direct.paraphrases.2 is there",
    ),
    (
        "id,image,relation,direct.image,direct.paraphrases.0,direct.paraphrases.1\na,a.jpg,left_of,1,,.2\n",
        "t.csv:2: direct.paraphrases.0 is missing, though direct.paraphrases.1 is there",
    ),
    (
        'id,image,relation,direct.image\na,a.jpg,left_of,"1,234"\n',
        't.csv:2: direct.image is "1,234", which is no number (a decimal comma is read in a CSV with semicolons)',
    ),
    ("id\timage\trelation\tdirect.image\na\ta.jpg\tleft_of\t1,234\n", 't.csv:2: direct.image is "1,234"'),
    ("id,image,relation,direct.image\na,a.jpg,left_of,1_0\n", 't.csv:2: direct.image is "1_0", which is no number'),
    (
        "id,image,relation,direct.image,note\na,a.jpg,left_of,1," + "x" * (1 << 20) + "x\n",
        "t.csv:2: cannot read the table: a cell has more than 1 MiB",
    ),
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


def test_a_long_cell_is_read_as_a_long_line_of_json_is(tmp_path: Path) -> None:
    limit = csv.field_size_limit()
    note = "a long note, " * 20_000
    rows = table_of(fields("a", note=note)).rows
    for ending in (".csv", ".jsonl"):
        write_table(rows, tmp_path / f"t{ending}")
        [row] = read_table(tmp_path / f"t{ending}").rows
        assert (row.model_extra or {})["note"] == note
    assert csv.field_size_limit() == limit


def test_rows_may_have_fewer_paraphrases_than_others(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "id,image,relation,direct.image,direct.paraphrases.0,direct.paraphrases.1\n"
        "a,a.jpg,left_of,1,.1,.2\nb,a.jpg,left_of,1,.1,\nc,a.jpg,left_of,1,,\n"
    )
    expected = [[0.1, 0.2], [0.1], None]
    assert [row.direct.paraphrases for row in read_table(tmp_path / "t.csv").rows] == expected
    for frame in (pandas.read_csv(tmp_path / "t.csv"), polars.read_csv(tmp_path / "t.csv")):
        assert [row.direct.paraphrases for row in MarginTable.from_frame(frame).rows] == expected
        for missing in (None, float("nan")):
            holed = (
                frame.to_dict("records") if hasattr(frame, "to_dict") and hasattr(frame, "iloc") else frame.to_dicts()
            )
            holed[0]["direct.paraphrases.0"] = missing
            with pytest.raises(RecapError, match=r"^frame:1: direct.paraphrases.0 is missing, though"):
                MarginTable.from_frame(holed)


MIXED = [
    ([{"a": 1}, "x"], 'column "own" holds mappings and text'),
    ([1, "1"], 'column "own" holds numbers and text'),
    ([True, 1], 'column "own" holds numbers and truths'),
    ([{"a": 1}, {"a": "x"}], 'column "own.a" holds numbers and text'),
    ([[1, "a"], None], 'column "own", in its lists, holds numbers and text'),
    ([[1], [{"a": 2}]], 'column "own", in its lists, holds mappings and numbers'),
    ([10**40, 1], 'column "own" holds a number of more than 64 bits'),
    ([2**60 + 1, 0.5], 'column "own" holds fractions and whole numbers too large'),
    ([{"a": {}}, None], 'column "own.a" holds an empty mapping'),
    ([object(), None], 'column "own" holds a object'),
]


@pytest.mark.parametrize(("values", "message"), MIXED)
def test_a_column_that_parquet_cannot_hold_is_named(values: list[Any], message: str, tmp_path: Path) -> None:
    table = table_of(*(fields(str(i), own=value) for i, value in enumerate(values)))
    with pytest.raises(RecapError, match=re.escape(message)):
        write_table(table.rows, tmp_path / "t.parquet")
    assert not list(tmp_path.iterdir())
    if not any(isinstance(value, object) and type(value) is object for value in values):
        write_table(table.rows, tmp_path / "t.jsonl")
        assert [(row.model_extra or {}).get("own") for row in read_table(tmp_path / "t.jsonl").rows] == values


@pytest.mark.parametrize(
    "values",
    [[b"\xff\x00", None], [[1, 2.5], [3]], [1, 2.5], [-(2**63), 2**63 - 1], [{"a": [1]}, {"b": "x"}], [[], [1]]],
)
def test_a_column_that_parquet_can_hold_comes_back(values: list[Any], tmp_path: Path) -> None:
    table = table_of(*(fields(str(i), own=value) for i, value in enumerate(values)))
    write_table(table.rows, tmp_path / "t.parquet")
    assert [(row.model_extra or {}).get("own") for row in read_table(tmp_path / "t.parquet").rows] == values
    for kind in KINDS:
        if not isinstance(values[0], list):  # whose elements are columns of their own
            assert len(MarginTable.from_frame(table.to_frame(kind))) == len(values)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (b"\xff", '"a": column "own" holds bytes that are no text'),
        ({"a": [float("inf")]}, '"a": column "own.a.0" holds inf, which JSON does not have'),
        (object(), '"a": column "own" holds a object'),
    ],
)
def test_what_json_does_not_have_is_named(value: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(RecapError, match=re.escape(message)):
        write_table(table_of(fields("a", own=value)).rows, tmp_path / "t.jsonl")
    assert not list(tmp_path.iterdir())
    write_table(table_of(fields("a", own=float("nan"))).rows, tmp_path / "t.jsonl")  # which is nothing
    assert read_table(tmp_path / "t.jsonl").rows[0].model_extra == {"own": None}


@pytest.mark.parametrize("kind", ["polars", "pyarrow", "datasets"])
def test_a_column_that_a_frame_cannot_hold_is_named(kind: str) -> None:
    table = table_of(fields("a", own=1), fields("b", own="1"))
    with pytest.raises(RecapError, match=f'column "own" holds numbers and text, and a column of {kind} holds one kind'):
        table.to_frame(kind)
    assert list(table.to_frame("pandas")["own"]) == [1, "1"]


def test_mappings_with_values_of_numpy_are_rows() -> None:
    record = {
        "id": numpy.int64(7),
        "image": numpy.str_("a.jpg"),
        "relation": "left_of",
        "label": numpy.int64(1),
        "swapped": numpy.bool_(False),
        "direct": {"image": numpy.float32(0.5), "paraphrases": numpy.array([0.25, 0.5], dtype="float32")},
        "margins": {"image": {"left_of": numpy.float16(1.5), "right_of": numpy.float64("nan")}},
        3: "a name that is no text",
    }
    [row] = MarginTable.from_frame([record]).rows
    assert (row.id, row.label, row.direct.image, row.direct.paraphrases) == ("7", "yes", 0.5, [0.25, 0.5])
    assert (row.margin("image", "left_of"), row.margin("image", "right_of")) == (1.5, None)
    assert row.model_extra == {"3": "a name that is no text"}
    with pytest.raises(RecapError, match='^column "3" is there twice'):
        MarginTable.from_frame([record | {"3": 1}])


def test_columns_on_several_levels_and_labels_in_numbers_are_read() -> None:
    frame = pandas.DataFrame(
        [["a", "a.jpg", "left_of", 1.0, 0.5], ["b", "b.jpg", "left_of", float("nan"), 0.5]],
        columns=pandas.MultiIndex.from_tuples(
            [("id", ""), ("image", ""), ("relation", ""), ("label", ""), ("direct", "image")]
        ),
    )
    rows = MarginTable.from_frame(frame).rows
    assert [(row.label, row.direct.image) for row in rows] == [("yes", 0.5), (None, 0.5)]
    twice = pandas.DataFrame([["a", "a.jpg", "left_of", 1.0, 2.0]], columns=["id", "image", "relation", "x", "x"])
    with pytest.raises(RecapError, match='column "x" is there twice'):
        MarginTable.from_frame(twice)


def test_what_pandas_makes_of_missing_numbers_and_paths_is_read() -> None:
    frame = pandas.DataFrame(
        {
            "id": [1.0, 2.0],
            "image": [Path("a.jpg"), Path("b.jpg")],
            "unit": [7.0, float("nan")],
            "relation": ["left_of", "right_of"],
            "claim": ["", "left_of"],
            "swapped": [0.0, 1.0],
            "direct.image": [1, 2],
        }
    )
    first, second = MarginTable.from_frame(frame).rows
    assert (first.id, first.image, first.unit, first.claim, first.swapped) == ("1", "a.jpg", "7", "left_of", False)
    assert (second.id, second.unit, second.swapped) == ("2", "b.jpg", True)


def test_half_of_a_surrogate_pair_is_refused_where_it_comes_in() -> None:
    for record in (fields("a", own={"x": ["\ud800"]}), fields("a") | {"image": "\udcff.jpg"}):
        with pytest.raises(RecapError, match=r"frame:1: (own.x|image) holds half of a surrogate pair"):
            MarginTable.from_frame([record])


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
