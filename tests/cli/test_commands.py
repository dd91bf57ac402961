from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recap.risks import FITTED, RISKS
from tests.conftest import Ran
from tests.tables import fields, random_rows, write

Recap = Callable[..., Ran]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write(random_rows(1, 60), tmp_path / "table.jsonl")


def test_parse_prints_the_contract(recap: Recap) -> None:
    ran = recap("parse", "Is the mug to the right of the laptop?", "--json")
    assert ran.json == {
        "subject": "mug",
        "relation": "right_of",
        "phrase": "to the right of",
        "object": "laptop",
        "family": "left_right",
        "claim": "left_of",
        "swapped": True,
        "contradictions": ["right_of"],
        "supports": {},
        "questions": {
            "direct": "Is the mug to the right of the laptop?",
            "left_of": "Is the laptop to the left of the mug?",
            "right_of": "Is the laptop to the right of the mug?",
        },
    }


def test_parse_outside_the_graph_has_no_claim(recap: Recap) -> None:
    found = recap("parse", "The cat is touching the dog.", "--json").json
    assert (found["claim"], found["family"], found["questions"]) == (
        None,
        "other",
        {"direct": "Is the cat touching the dog?"},
    )


def test_parse_for_people(recap: Recap) -> None:
    out = recap("parse", "The cup is on the table.").out
    assert "above (β = 0.5)" in out
    assert "Is the cup below the table?" in out
    assert '"on top of" is read as above' in recap("parse", "The cup is on top of the table.").out
    assert "read as" not in out
    assert "outside the relation graph" in recap("parse", "The cup is near the table.").out


@pytest.mark.parametrize(
    "names",
    [
        ["--risk", "confidence", "--risk", "recap-img"],
        ["--risk", "confidence,recap-img"],
        ["--risk", "confidence", "recap-img"],
    ],
)
def test_score_takes_several_names(recap: Recap, table: Path, names: list[str]) -> None:
    ran = recap("score", table, *names)
    assert ran.code == 0, ran.err
    assert len(ran.lines) == len(table.read_text().splitlines())
    assert list(ran.lines[0]) == ["id", "answer", "risks"]
    assert list(ran.lines[0]["risks"]) == ["confidence", "recap-img"]


def test_score_offers_all_risks_and_writes_a_file(recap: Recap, table: Path, tmp_path: Path) -> None:
    ran = recap("score", table, "--out", tmp_path / "scores.jsonl")
    assert (ran.code, ran.out) == (0, "")
    first = json.loads((tmp_path / "scores.jsonl").read_text().splitlines()[0])
    assert list(first["risks"]) == list(RISKS)


def test_selector_scores_use_the_given_calibration(recap: Recap, table: Path, tmp_path: Path) -> None:
    other = write(random_rows(2, 30), tmp_path / "cal.jsonl")
    own = recap("score", table, "-r", "recap-selector").lines
    given = recap("score", table, "-r", "recap-selector", "--calibration", other).lines
    assert own != given


def test_calibrate_then_decide(recap: Recap, table: Path, tmp_path: Path) -> None:
    policy = tmp_path / "policy.json"
    ran = recap("calibrate", table, "--coverage", "0.8", "--out", policy)
    assert ran.code == 0, ran.err
    assert "mode       recap-" in ran.out
    document = json.loads(policy.read_text())
    assert {"mode", "coverage", "threshold", "gate", "cdfs", "graph", "model", "counts", "fallback"} <= document.keys()
    decided = recap("decide", table, "--policy", policy).lines
    assert len(decided) == len(table.read_text().splitlines())
    assert all(line["accepted"] == (line["risk"] <= line["threshold"]) for line in decided)
    assert all(line["reason"].startswith("accepted" if line["accepted"] else "rejected") for line in decided)
    told = recap("decide", table, "--policy", policy, "--out", tmp_path / "d.jsonl")
    assert "answers accepted" in told.err
    assert [json.loads(x) for x in (tmp_path / "d.jsonl").read_text().splitlines()] == decided


def test_calibrate_json_is_the_policy_file_and_how_right_it_is(recap: Recap, table: Path, tmp_path: Path) -> None:
    policy = tmp_path / "policy.json"
    told = recap("calibrate", table, "--out", policy, "--json").json
    among = told.pop("accepted")
    assert told == json.loads(policy.read_text())
    labels = [json.loads(line)["label"] for line in table.read_text().splitlines()]
    decided = recap("decide", table, "--policy", policy).lines
    taken = [(d["answer"], label) for d, label in zip(decided, labels, strict=True) if d["accepted"] and label]
    negatives = [answer for answer, label in taken if label == "no"]
    assert (among["rows"], among["of"]) == (len(taken), sum(label is not None for label in labels))
    assert among["accuracy"] == pytest.approx(sum(answer == label for answer, label in taken) / len(taken))
    assert among["hfpr"] == pytest.approx(negatives.count("yes") / len(negatives))
    text = recap("calibrate", table, "--out", policy)
    assert f"{among['accuracy']:.1%} right, H-FPR {among['hfpr']:.1%} (n = {len(negatives)})" in text.out


@pytest.mark.parametrize(("units", "error"), [(3, 19), (29, 7), (30, None)])
def test_few_calibration_units_are_warned_of(recap: Recap, tmp_path: Path, units: int, error: int | None) -> None:
    rows = [fields(str(i), label="yes" if i % 2 else "no", direct={"image": 0.1 * i - 1}) for i in range(units)]
    ran = recap("calibrate", write(rows, tmp_path / "few.jsonl"), "--out", tmp_path / "policy.json")
    assert ran.code == 0
    warned = f"rests on {units} units only" in ran.err and f"miss 80% by ±{error} points" in ran.err
    assert warned == (error is not None), ran.err


def test_a_threshold_is_ranked_on_a_target_without_labels(recap: Recap, table: Path, tmp_path: Path) -> None:
    rows = [row | {"label": None} for row in random_rows(9, 60, bias=1.5)]
    target, policy = write(rows, tmp_path / "target.jsonl"), tmp_path / "policy.json"
    ran = recap("calibrate", table, "--target-scores", target, "--out", policy)
    assert ran.code == 0, ran.err
    ranked = json.loads(policy.read_text())["ranked_on"]
    assert ranked["rows"] == len(rows)
    assert f"ranked on  {len(rows)} target rows in 60 units; their labels, if any, chose nothing" in ran.out
    assert f"accepts {ranked['source_coverage']:.1%}" in ran.out
    decided = recap("decide", target, "--policy", policy).lines
    assert sum(line["accepted"] for line in decided) / len(rows) == pytest.approx(0.8, abs=0.01)
    source = recap("calibrate", table, "--out", tmp_path / "source.json", "--json").json
    document = json.loads(policy.read_text())
    assert (document["mode"], document["gate"], document["counts"]) == (
        source["mode"],
        source["gate"],
        source["counts"],
    )
    assert ranked["source_threshold"] == source["threshold"] != document["threshold"]


def test_target_rows_beyond_the_graph_are_told_of(recap: Recap, tmp_path: Path) -> None:
    table = write(random_rows(1, 40), tmp_path / "table.jsonl")
    target = write(random_rows(2, 40, outside=0.5), tmp_path / "target.jsonl")
    ran = recap("calibrate", table, "--target-scores", target, "--out", tmp_path / "policy.json")
    assert (ran.code, "target rows cannot be scored and were left out" in ran.err) == (0, True)


def test_staged_is_asked_for(recap: Recap, table: Path, tmp_path: Path) -> None:
    ran = recap("calibrate", table, "--mode", "staged", "--first", "0.5", "--out", tmp_path / "p.json")
    assert "staged  (as asked)" in ran.out
    assert "is accepted without probing" in ran.out


def test_evaluate_prints_the_contract(recap: Recap, table: Path) -> None:
    found: Any = recap("evaluate", table, "--splits", "5", "--json").json
    assert {"n", "units", "splits", "coverage", "risks"} <= found.keys()
    assert (found["units"], found["splits"], found["coverage"]) == (60, 5, 0.8)
    for figures in found["risks"].values():
        assert {"coverage", "acc", "hfpr", "err_auc", "hall_auc", "aurc"} <= figures.keys()
        assert all(0 <= figures[name] <= 1 for name in ("coverage", "acc", "hfpr", "err_auc", "hall_auc", "aurc"))
    assert sum(found["risks"]["recap"]["modes"].values()) == 5


def test_evaluate_twice_is_the_same(recap: Recap, table: Path) -> None:
    assert recap("evaluate", table, "--json").out == recap("evaluate", table, "--json").out


def test_evaluate_for_people_and_into_a_folder(recap: Recap, table: Path, tmp_path: Path) -> None:
    ran = recap("evaluate", table, "--splits", "3", "--out", tmp_path / "report")
    assert "recap chose" in ran.out
    assert "Gain over confidence" in ran.out
    with (tmp_path / "report" / "splits.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 3 * (len(RISKS) + len(FITTED) + 1)
    assert json.loads((tmp_path / "report" / "evaluation.json").read_text())["splits"] == 3


def test_evaluate_one_family(recap: Recap, table: Path) -> None:
    found: Any = recap("evaluate", table, "--family", "vertical", "--splits", "2", "--json").json
    assert found["n"] < 200
    ran = recap("evaluate", table, "--family", "vertcal")
    assert (ran.code, 'did you mean "vertical"?' in ran.err) == (2, True)


def test_data_list_and_stats(recap: Recap, data: Path, tmp_path: Path) -> None:
    assert "whatsup" in recap("data", "list").out
    names = [d["name"] for d in recap("data", "list", "--json").json]
    assert names[:3] == ["vsr", "whatsup", "gsr"]
    assert {"amber", "blink", "cv-bench", "world:whatsup", "world:vsr", "world:gsr"} <= set(names)
    found: Any = recap("data", "stats", "vsr", "--root", data / "vsr", "--json").json
    assert {"statements", "covered", "images", "families", "relations", "probes", "calls_per_statement"} <= found.keys()
    assert "as the paper counts" in recap("data", "stats", "whatsup", "--root", data / "whatsup").out
    mine = tmp_path / "mine.jsonl"
    mine.write_text(
        '{"image": "a.jpg", "question": "Is the mug on the table?"}\n' + 7 * '{"image": "a.jpg", "question": "Why?"}\n'
    )
    ran = recap("data", "stats", mine)
    assert "1 statements, 1 of them covered" in ran.out
    assert "… and 2 more rows without a spatial relation" in ran.err


def test_graph_show_and_check(recap: Recap, tmp_path: Path) -> None:
    assert "above (β = 0.5)" in recap("graph", "show").out
    shown = recap("graph", "show", "--json").json
    assert shown["relations"]["behind"]["claim"] == "in_front_of"
    builtin = Path(__file__).parents[2] / "src" / "recap" / "claims" / "graph.toml"
    good = recap("graph", "check", builtin)
    assert (good.code, "9 relations, 5 claims, no problems" in good.out) == (0, True)
    bad = tmp_path / "bad.toml"
    bad.write_text(builtin.read_text().replace("above = 0.5", "above = 7"))
    ran = recap("graph", "check", bad)
    assert (ran.code, ran.err) == (2, f"{bad}:36: on: the weight of support above is 7, outside (0, 1]\n")


def test_help_everywhere_has_an_example(recap: Recap) -> None:
    assert recap().out == recap("--help").out
    for command in (
        ["demo"],
        ["parse"],
        ["score"],
        ["calibrate"],
        ["decide"],
        ["evaluate"],
        ["probe"],
        ["data", "list"],
        ["data", "stats"],
        ["data", "fetch"],
        ["table", "convert"],
        ["graph", "show"],
        ["graph", "check"],
        ["graph", "learn"],
    ):
        ran = recap(*command, "--help")
        assert ran.code == 0
        assert f"Example: recap {' '.join(command)}" in ran.out
    assert recap("--version").out.startswith("recap ")


def test_a_reader_who_has_enough_is_no_error(table: Path) -> None:
    import subprocess
    import sys

    command = f"{sys.executable} -m recap score {table} | head -n 1"
    ran = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert "Traceback" not in ran.stderr
    assert len(ran.stdout.splitlines()) == 1


def test_rows_outside_the_graph_have_null_risks(recap: Recap, tmp_path: Path) -> None:
    path = write([fields("a"), fields("b", "near")], tmp_path / "t.jsonl")
    assert [line["risks"]["recap-img"] for line in recap("score", path, "-r", "recap-img").lines] == [
        0.0 - (0.5 - -0.5),
        None,
    ]


def test_score_says_in_one_line_what_it_leaves_out(recap: Recap, tmp_path: Path) -> None:
    path = write([row | {"margins": {}} for row in random_rows(4, 10)], tmp_path / "t.jsonl")
    ran = recap("score", path)
    assert (ran.code, ran.err.count("\n")) == (0, 1)
    assert "recap-img" in ran.err
    assert ran.err.count("image.claim is missing") == 1


def test_a_small_table_is_evaluated_as_far_as_it_goes(recap: Recap, tmp_path: Path) -> None:
    path = write(random_rows(7, 10), tmp_path / "t.jsonl")
    ran = recap("evaluate", path, "--out", tmp_path / "report")
    assert ran.code == 0
    assert "splits were skipped" in ran.err
    assert "only 10 units: intervals are wide" in ran.err
    assert "figures without a report" in ran.err
    skipped = len(json.loads((tmp_path / "report" / "evaluation.json").read_text())["skipped_splits"])
    assert f"over {20 - skipped} held-out splits" in ran.out
    one = recap("evaluate", write(random_rows(7, 1), tmp_path / "one.jsonl"), "--splits", "1")
    assert (one.code, "too few for the one split that was tried" in one.err) == (2, True)


def test_python_takes_files_as_the_commands_do(recap: Recap, table: Path, tmp_path: Path) -> None:
    import recap as package

    assert (
        package.score(table, ["confidence", "recap-img"]) == recap("score", table, "-r", "confidence,recap-img").lines
    )
    recap("calibrate", table, "--out", tmp_path / "command.json")
    package.calibrate(table, tmp_path / "function.json")
    assert (tmp_path / "command.json").read_bytes() == (tmp_path / "function.json").read_bytes()
    decided = [decision.to_json() for decision in package.decide(tmp_path / "function.json", table)]
    assert decided == recap("decide", table, "--policy", tmp_path / "command.json").lines
    assert package.evaluate(table, splits=2).to_json() == recap("evaluate", table, "--splits", 2, "--json").json


def test_decide_says_how_often_confidence_in_the_other_answer_decided(recap: Recap, tmp_path: Path) -> None:
    lines = write(random_rows(1, 60), tmp_path / "rows.jsonl").read_text().splitlines()
    rows = [json.loads(line) | {"answer": None} for line in lines]
    turned = [row | {"answer": "no" if row["direct"]["image"] >= 0 else "yes"} for row in rows]
    own, other, policy = tmp_path / "own.jsonl", tmp_path / "other.jsonl", tmp_path / "policy.json"
    for table, held in ((own, rows), (other, turned)):
        table.write_text("".join(json.dumps(row) + "\n" for row in held))
    assert recap("calibrate", own, "--mode", "confidence", "--out", policy).code == 0
    assert "not the model's own" not in recap("decide", own, "--policy", policy).err
    ran = recap("decide", other, "--policy", policy)
    accepted = sum(json.loads(line)["accepted"] for line in ran.out.splitlines())
    assert accepted > 0
    assert f"{accepted} accepted answers are not the model's own" in ran.err


def test_an_answer_that_the_model_would_not_give_is_not_ascribed_to_it(recap: Recap) -> None:
    question = "Is the crate on the suitcase?"
    own = recap("audit", "world:whatsup/0003", question, "--json").json["answer"]
    other = "no" if own == "yes" else "yes"
    assert f': "{own}"' in recap("audit", "world:whatsup/0003", question).out
    said = recap("audit", "world:whatsup/0003", question, "--answer", other).out.replace("\n", " ")
    assert f'answered "{other}" (world:aligned says "{own}")' in said
