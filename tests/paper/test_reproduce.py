"""The paper's evaluation from Python, on a small part of the embedded world: what the command line prints, and more."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

import recap
from recap.paper.reproduce import Reproduction
from recap.paper.suites import SUITES, WORLD

Made = tuple[Reproduction, list[str], dict[str, Any]]
PART = {"vsr": 20.0, "whatsup": 20.0, "gsr": 20.0}


pytestmark = pytest.mark.slow  # a run of half a minute


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A real run: its result, what it said on the way, and its numbers by experiment."""
    out = tmp_path_factory.mktemp("reproduced")
    said: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SUITES, "world", replace(WORLD, quick=PART))
        done = recap.reproduce(only=["runtime", "low-cost"], quick=True, out=out, say=said.append)
    document = json.loads((out / "numbers.json").read_text("utf-8"))
    return done, said, document


def numbers(document: dict[str, Any], table: str) -> dict[tuple[str, ...], float]:
    tables = [each for experiment in document["experiments"] for each in experiment["tables"]]
    rows = [row for each in tables if each["label"] == table for row in each["numbers"]]
    return {(row["model"], row["data"], row["method"], row["metric"]): row["value"] for row in rows}


def test_the_result_says_what_was_written_and_found(made: Made) -> None:
    done, said, document = made
    assert done.report.name == "report.html"
    assert done.report.is_file()
    assert (done.report.parent / "margins.db").is_file()
    assert done.experiments == ["low-cost", "runtime"]
    assert done.missing == {}
    assert done.findings == {each["name"]: each["findings"] for each in document["experiments"]}
    assert done.probes["computed"] > 1000
    assert done.seconds["probing"] > 0
    assert document["command"] == "recap reproduce --quick --only low-cost runtime"
    assert any("world:biased: loading" in sentence for sentence in said)


def test_time_probes_and_covered_statements_belong_together(
    made: Made,
) -> None:
    done, said, document = made
    timed = numbers(document, "runtime-summary")
    assert len(timed) == 4 * 3
    for model in WORLD.headline:
        for data in ("vsr", "whatsup"):
            first = next(each for each in said if each.startswith(f"{model} on world:{data}: "))
            covered, probes = (int(part.split()[0].replace(",", "")) for part in first.split(": ")[-1].split(", ")[:2])
            place = (model, data, "recap-vcd")
            assert timed[*place, "minutes"] * 60 / timed[*place, "sec_per_sample"] == pytest.approx(covered)
            assert timed[*place, "probes"] == probes
    outside = [each for each in said if each.startswith("world:aligned on world:vsr: ")]
    assert len(outside) == 2  # what lies outside the graph is probed too, and not counted here
    assert sum(value for place, value in timed.items() if place[-1] == "probes") < done.probes["computed"]


def test_a_small_probe_set_asked_by_itself_gives_the_same_risks(
    made: Made,
) -> None:
    done, _, document = made
    checks = numbers(document, "text:low-cost")
    assert checks["", "", "", "checks"] == 4 * 6
    assert 0 < checks["", "", "", "risk_difference"] < 1e-3  # not exactly zero, as nothing was copied
    asked = {place: value for place, value in numbers(document, "own:low-cost").items() if place[-1] == "n"}
    assert {place[2] for place in asked} == {"confidence", "anti-delta", "recap-img", "recap-cal", "recap-selector"}
    assert min(asked.values()) >= 16
    assert "20 of them" in done.findings["low-cost"][1]
