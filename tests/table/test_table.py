from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recap.claims import load_graph
from recap.errors import RecapError
from recap.risks import RISKS, compute_risk
from recap.table import read_table, write_table
from tests.tables import fields, random_rows, table_of, write

GRAPH = Path(__file__).parents[2] / "src" / "recap" / "claims" / "graph.toml"


def test_the_contracts_own_example_is_read(tmp_path: Path) -> None:
    example = {
        "id": "wu-a-17-2", "dataset": "whatsup", "unit": "data/controlled_images/x.jpeg", "image": "data/controlled_images/x.jpeg",
        "subject": "mug", "relation": "right_of", "object": "table", "label": "no", "claim": "left_of", "swapped": True,
        "direct": {"image": 0.8, "text": 1.9, "paraphrases": [0.7, 0.9, 0.4, 1.0], "ca_bidirectional": 0.3, "ca_combined": 0.2},
        "margins": {
            "image": {"left_of": -1.2, "right_of": 2.2},
            "text": {"left_of": 0.3, "right_of": 0.4},
            "degraded": {"left_of": -0.1, "right_of": 0.2},
            "flipped": {"left_of": 1.9, "right_of": -0.8},
        },
    }  # fmt: skip
    table = read_table(write([example], tmp_path / "t.jsonl"))
    assert table.yes.tolist() == [True]
    assert compute_risk(table, "recap-img") == pytest.approx([3.4])
    assert compute_risk(table, "recap-cal") == pytest.approx([(2.2 - 0.4) - (-1.2 - 0.3)])


def test_answer_is_the_sign_of_the_direct_margin_unless_given() -> None:
    rows = [fields("a", direct={"image": 0.0}), fields("b", direct={"image": -0.1}), fields("c", answer="no")]
    assert table_of(*rows).yes.tolist() == [True, False, False]


def test_claim_and_unit_are_derived_when_left_out() -> None:
    row = fields("a", "behind")
    for name in ("claim", "swapped", "unit"):
        del row[name]
    [read] = table_of(row).rows
    assert (read.claim, read.swapped, read.unit) == ("in_front_of", True, "a.jpg")


def test_columns_from_elsewhere_are_left_alone() -> None:
    assert len(table_of(fields("a", annotator=7, split="test"))) == 1


def changed(path: str, value: Any) -> dict[str, Any]:
    row = fields("x")
    *parents, last = path.split(".")
    part = row
    for name in parents:
        part = part[name]
    if value is ...:
        del part[last]
    else:
        part[last] = value
    return row


BAD = [
    (changed("lable", "yes"), '"lable" is not a field; did you mean "label"?'),
    (changed("direct.imgae", 1.0), '"direct.imgae" is not a field; did you mean "image"?'),
    (changed("label", "maybe"), 'label is "maybe", but must be \'yes\' or \'no\''),
    (changed("label", 1), "label is \"1\", but must be 'yes' or 'no'"),
    (changed("id", ...), 'field "id" is missing'),
    (changed("id", ""), "id: string should have at least 1 character"),
    (changed("relation", ...), 'field "relation" is missing'),
    (changed("direct.image", float("nan")), "direct.image is NaN or infinite"),
    (changed("margins.image.left_of", float("inf")), "margins.image.left_of is NaN or infinite"),
    (changed("margins.text.right_of", "0.5"), "margins.text.right_of: input should be a valid number"),
    (changed("margins.image.lft_of", 1.0), 'margins.image: unknown relation "lft_of"; did you mean "left_of"?'),
    (changed("margins.imag", {}), 'margins.imag is not a channel (image, text, degraded, flipped); did you mean "image"?'),
    (changed("relation", "lefty_of"), 'relation: unknown relation "lefty_of"; did you mean "left_of"?'),
    (changed("claim", "leftof"), 'claim: unknown relation "leftof"'),
    (changed("claim", "above"), "claim is above, but left_of is audited as left_of"),
    (changed("claim", None), "claim is null, but left_of is audited as left_of"),
    (changed("swapped", True), "swapped is true, but left_of becomes left_of without swapping the objects"),
    (changed("direct.image", ...), "direct.image is missing, and no answer is given"),
    (changed("direct.paraphrases", []), "direct.paraphrases: list should have at least 1 item"),
    (changed("margins", [1]), "margins is not a JSON object"),
]  # fmt: skip


@pytest.mark.parametrize(("row", "problem"), BAD, ids=[problem[:40] for _, problem in BAD])
def test_a_bad_row_is_named_by_file_line_and_field(tmp_path: Path, row: dict[str, Any], problem: str) -> None:
    path = write([fields("good"), row], tmp_path / "t.jsonl")
    with pytest.raises(RecapError) as caught:
        read_table(path)
    assert str(caught.value).startswith(f"{path}:2: ")
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"id": "a", "relation": "left_of", "dir', ":1: not valid JSON: EOF while parsing"),
        ("[1, 2]\n", ":1: the row is not a JSON object"),
        ("", ": the table is empty"),
        ("\n\n", ": the table is empty"),
        ("\x00\x01", ":1: not valid JSON"),
    ],
)
def test_a_file_that_is_no_table_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(text)
    with pytest.raises(RecapError, match=problem):
        read_table(path)


def test_a_huge_line_is_refused_before_it_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps(fields("a")) + "\n" + json.dumps(fields("b", subject="x" * 10_000_000)) + "\n")
    with pytest.raises(RecapError, match=r":2: the row is longer than 1 MiB"):
        read_table(path)


def test_a_duplicate_id_names_both_lines(tmp_path: Path) -> None:
    path = write([fields("a"), fields("b"), fields("a")], tmp_path / "t.jsonl")
    with pytest.raises(RecapError, match=r':3: id "a" is a duplicate of line 1'):
        read_table(path)


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_a_table_comes_back_as_it_was_written(tmp_path: Path, suffix: str) -> None:
    rows = random_rows(3, 20, outside=0.2)
    table = table_of(*rows)
    path = tmp_path / f"t{suffix}"
    write_table(table.rows, path)
    back = read_table(path)
    assert [row.id for row in back.rows] == [row.id for row in table.rows]
    for name in RISKS:
        assert np.array_equal(compute_risk(back, name), compute_risk(table, name), equal_nan=True), name
    assert list(tmp_path.iterdir()) == [path]


def test_a_bad_parquet_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(b"PAR1 not really")
    with pytest.raises(RecapError, match="cannot read the table"):
        read_table(path)


def test_rows_of_two_models_do_not_mix() -> None:
    table = table_of(fields("a", model="m1"), fields("b", model="m2"))
    with pytest.raises(RecapError, match="rows of different models: m1, m2"):
        _ = table.model


def test_a_claim_with_several_contradictions_takes_the_strongest(tmp_path: Path) -> None:
    mine = tmp_path / "g.toml"
    mine.write_text(
        GRAPH.read_text().replace('[relations.on]\nfamily = "vertical"\ncontradictions = ["below"]', '[relations.on]\nfamily = "vertical"\ncontradictions = ["below", "beside"]')
        + '\n[relations.beside]\nfamily = "vertical"\ncontradictions = ["on"]\n'
    )  # fmt: skip
    graph = load_graph(mine)
    margins = {"image": {"on": 1.0, "below": -2.0, "beside": 0.5, "above": -1.0}}
    row = fields("a", "on", margins=margins)
    assert compute_risk(table_of(row, graph=graph), "recap-img") == pytest.approx([-(1.0 - 0.5 - 0.5)])
