"""`recap probe` as a process, on a real checkpoint, and the commands that go on from its table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from recap.policy import calibrate_table, decide, save_policy
from recap.table import read_table
from tests.conftest import Ran
from tests.probing.checkpoint import save_dataset

Recap = Callable[..., Ran]


def test_probe_calibrate_decide_and_audit_tell_one_story(
    recap: Recap, checkpoint: Path, dataset: Path, tmp_path: Path
) -> None:
    table = tmp_path / "table.jsonl"
    ran = recap("probe", dataset, "--model", checkpoint, "--out", table, "--json")
    assert ran.code == 0, ran.err
    assert ran.json["statements"] == 24
    assert ran.json["scoring"] == "tree"
    policy = calibrate_table(read_table(table), 0.5)
    save_policy(policy, tmp_path / "policy.json")
    decisions = {d.id: d for d in decide(policy, read_table(table))}
    audited = recap(
        "audit",
        dataset.parent / "2.png",
        "Is the mug to the right of the table?",
        "--model",
        checkpoint,
        "--policy",
        tmp_path / "policy.json",
        "--json",
    )
    assert audited.code == 0, audited.err
    assert audited.json["accepted"] == decisions["2-1"].accepted
    assert audited.json["risk"] == pytest.approx(decisions["2-1"].risk, abs=1e-4)
    assert [p["role"] for p in audited.json["probes"]] == ["direct", "claim", "contradiction"]
    plain = recap("audit", dataset.parent / "2.png", "Is the mug on the table?", "--model", checkpoint, "--plain")
    assert "not calibrated" in plain.out


def test_a_stored_run_is_repeated_byte_for_byte(recap: Recap, checkpoint: Path, dataset: Path, tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    probing = ["probe", dataset, "--model", checkpoint, "--store", store]
    first, again = (
        recap(*probing, "--probes", "diagnostic", "--out", tmp_path / name, "--json") for name in ("a.jsonl", "b.jsonl")
    )
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    assert first.json["cache_hits"] == 0
    assert again.json["cache_hits"] == again.json["probes"]
    fewer = recap(*probing, "--limit", "5", "--out", tmp_path / "c.jsonl")
    assert "5 statements" in fewer.out


def test_bad_pictures_are_named_and_the_rest_is_written(recap: Recap, checkpoint: Path, tmp_path: Path) -> None:
    data = save_dataset(tmp_path / "d", 4)
    (tmp_path / "d" / "1.png").write_bytes(b"no image")
    (tmp_path / "d" / "3.png").unlink()
    ran = recap("probe", data, "--model", checkpoint, "--out", tmp_path / "t.jsonl")
    assert ran.code == 2
    assert "1.png: this is not an image" in ran.err
    assert "3.png: cannot read the image: no such file" in ran.err
    assert len(read_table(tmp_path / "t.jsonl")) == 8


def test_real_photographs_are_found_in_a_flat_folder(
    recap: Recap, checkpoint: Path, data: Path, tmp_path: Path
) -> None:
    out = tmp_path / "wu.jsonl"
    ran = recap("probe", "whatsup", "--root", data / "whatsup", "--model", checkpoint, "--out", out)
    assert ran.code == 2  # most of the 820 pictures are not there
    assert "… and 787 more pictures that cannot be shown" in ran.err
    table = read_table(out)
    assert len(table) == 13 * 4
    assert {row.label for row in table.rows} == {"yes", "no"}
    assert all(row.image == row.unit and row.image.startswith("data/controlled_") for row in table.rows)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["audit", "0.png", "What is this?", "--model", "x"], "no spatial relation found"),
        (["audit", "none.png", "Is the mug on the table?", "--model", "x"], "cannot read the image: no such file"),
        (["audit", "0.png", "Is the mug on the table?", "--model", "no/such/model"], "no/such/model: there is no such folder (a name on the hub looks like"),
        (["audit", "0.png", "Is the mug on the table?", "--model", "CHECKPOINT", "--answer", "maybe"], 'the answer to audit is "maybe"'),
        (["audit", "0.png", "Is the mug on the table?", "--model", "CHECKPOINT", "--dtype", "int4"], '"int4" is not a dtype'),
        (["probe", "questions.jsonl", "--model", "x", "--out", "t.jsonl", "--probes", "most"], '"most" is not a probe set'),
        (["probe", "questions.jsonl", "--model", "CHECKPOINT", "--out", "t.jsonl", "--store", "questions.jsonl"], "cannot open the store"),
        (["bench", "--arch", "huge"], '"huge" is not a shape'),
    ],
)  # fmt: skip
def test_a_wrong_word_ends_in_one_line(
    recap: Recap, checkpoint: Path, dataset: Path, arguments: list[str], problem: str
) -> None:
    ran = recap(*[str(checkpoint) if a == "CHECKPOINT" else a for a in arguments], cwd=dataset.parent)
    assert (ran.code, ran.out) == (2, "")
    assert problem in ran.err
    assert ran.err.count("\n") == 1
    assert not (dataset.parent / "t.jsonl").exists()


def test_rows_that_cannot_be_read_are_named_and_the_rest_is_written(
    recap: Recap, checkpoint: Path, tmp_path: Path
) -> None:
    data = save_dataset(tmp_path / "d", 2)
    with data.open("a") as stream:
        stream.write('{"image": "0.png", "question": "Is the man on the phone?"}\n')
        stream.write('{"image": "0.png", "question": "What is this?"}\n' * 25)
    ran = recap("probe", data, "--model", checkpoint, "--out", tmp_path / "t.jsonl", "--json")
    assert (ran.code, ran.json["statements"], len(ran.json["unread"])) == (2, 8, 26)
    assert f'{data}:9: no spatial relation found in "Is the man on the phone?"' in ran.err
    assert "… and 6 more rows that cannot be read" in ran.err
    assert len(read_table(tmp_path / "t.jsonl")) == 8


def test_python_probes_as_the_command_does(recap: Recap, checkpoint: Path, dataset: Path, tmp_path: Path) -> None:
    import recap as package

    said = ["probe", dataset, "--model", checkpoint, "--probes", "cal", "--wording", "verbatim", "--limit", "6"]
    ran = recap(*said, "--out", tmp_path / "a.jsonl", "--json")
    found = package.probe(dataset, str(checkpoint), out=tmp_path / "b.jsonl", probes="cal", wording="verbatim", limit=6)
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    changing = {"probes_per_second"}
    assert {k: v for k, v in ran.json.items() if k not in changing} == {
        k: v for k, v in found.to_json().items() if k not in changing
    }
    assert len(found.table) == 6
    from recap.models.load import load_model

    again = package.probe(dataset, load_model(str(checkpoint)), probes="cal", wording="verbatim", limit=6)
    assert [row.direct for row in again.rows] == [row.direct for row in found.rows]
