"""A policy file with anything in the place of anything: it is refused in one line, or it decides. Never anything else."""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import recap
from recap.errors import RecapError, RecapWarning
from recap.policy import load_policy, policy_json
from tests.simulate import ALIGNED, BIASED, simulate

WAYS: dict[str, dict[str, Any]] = {
    "fallback": {"gate": "paper"},
    "staged": {"mode": "staged"},
    "fitted": {"mode": "probe-logit"},
    "utility": {"gate": "utility"},
    "guarantee": {"risk_at_most": 0.2},
    "families": {"risk_at_most": 0.3, "per": "family"},
    "repair": {"repair": True, "repair_at_most": 0.3, "undecided": True},
}
JUNK = [None, True, "x", -1, 0, 0.5, 1e308, float("nan"), float("inf"), [], {}]
GONE = object()


@cache
def written(way: str) -> str:
    table = simulate(BIASED if way == "repair" else ALIGNED, 200, 1, outside=0.3)
    return policy_json(recap.calibrate(table, **WAYS[way]))


def places(part: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place of a document; of a list the first element stands for the others."""
    if path:
        yield path
    inner = part.items() if isinstance(part, dict) else enumerate(part[:1]) if isinstance(part, list) else ()
    for name, value in inner:
        yield from places(value, (*path, name))


def changed(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    made = copy.deepcopy(document)
    part = made
    for name in path[:-1]:
        part = part[name]
    if value is GONE:
        del part[path[-1]]
    else:
        part[path[-1]] = value
    return made


@pytest.mark.parametrize("way", WAYS)
def test_anything_in_the_place_of_anything_is_refused_or_decides(way: str, tmp_path: Path) -> None:
    document = json.loads(written(way))
    for name, cdf in document["cdfs"].items():  # short ones are read faster, and nothing else is different
        document["cdfs"][name] = None if cdf is None else cdf[::40]
    if document["fallback"] is not None:
        document["fallback"]["cdf"] = document["fallback"]["cdf"][::10]
    table = simulate(BIASED if way == "repair" else ALIGNED, 3, 2, outside=0.3)
    path, refused, decided, faults = tmp_path / "policy.json", 0, 0, list[str]()
    for place in places(document):
        for value in (*JUNK, GONE):
            path.write_text(json.dumps(changed(document, place, value)))
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # a number that overflows has not been refused either
                warnings.simplefilter("ignore", RecapWarning)
                try:
                    policy = load_policy(path)
                    assert len(list(recap.decide(policy, table))) == len(table)
                    assert all((repr(policy), policy.promise, policy_json(policy)))
                    decided += 1
                except RecapError as error:
                    assert "\n" not in str(error)
                    refused += 1
                except Exception as error:
                    faults.append(f"{'.'.join(map(str, place))} = {value!r}: {error!r}")
    assert not faults, "\n".join(faults)
    assert refused > decided > 0


@pytest.mark.parametrize("version", ["2", True, 2.0, 1.0, None, [2], 0, 3, GONE])
def test_a_version_is_a_whole_number_that_is_known(tmp_path: Path, version: Any) -> None:
    path = tmp_path / "policy.json"
    path.write_text(json.dumps(changed(json.loads(written("fallback")), ("version",), version)))
    with pytest.raises(RecapError, match=r'policy version .+ is not known here|field "version" is missing'):
        load_policy(path)


@pytest.mark.parametrize(
    ("place", "value", "problem"),
    [
        (("weights",), [1.0], "fitted: middle, spread and weights have .+ and must have as many each"),
        (("weights",), [], r"fitted.weights: list should have at least 1 item"),
        (("spread", 0), 0.0, r"fitted.spread.0: input should be greater than 0"),
        (("middle", 0), float("nan"), r"fitted.middle.0 is NaN or infinite"),
        (("intercept",), None, r"fitted.intercept: input should be a valid number"),
    ],
)
def test_a_damaged_fit_is_named(tmp_path: Path, place: tuple[Any, ...], value: Any, problem: str) -> None:
    path = tmp_path / "policy.json"
    path.write_text(json.dumps(changed(json.loads(written("fitted")), ("fitted", *place), value)))
    with pytest.raises(RecapError, match=problem):
        load_policy(path)


def test_a_fit_to_other_inputs_is_refused_where_it_is_used(tmp_path: Path) -> None:
    path, document = tmp_path / "policy.json", json.loads(written("fitted"))
    for name in ("middle", "spread", "weights"):
        document["fitted"][name] = document["fitted"][name][:-1]
    path.write_text(json.dumps(document))
    with pytest.raises(RecapError, match="probe-logit was fitted to .+ inputs, and has .+ with this relation graph"):
        list(recap.decide(path, simulate(ALIGNED, 8, 2)))
