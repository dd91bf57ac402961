"""What a command does, a function does: the same options, with the same defaults."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recap.cli.main import app
from recap.models.load import LOCAL, REMOTE

FUNCTIONS = {
    "audit": ("recap.audit:Auditor.load", "recap.audit:Auditor.audit", "recap.audit:Auditor.audit_text"),
    "bench": ("recap.bench.run:bench", "recap.bench.pictures:bench_pictures"),
    "calibrate": ("recap:calibrate",),
    "captions": ("recap.audit:Auditor.load", "recap.world.caption_study:caption_study"),
    "compare": ("recap:compare",),
    "data fetch": ("recap.datasets.fetch:fetch_dataset",),
    "data stats": ("recap.datasets:load_dataset", "recap.datasets:dataset_stats"),
    "data unpack": ("recap.datasets.pictures:unpack_pictures",),
    "decide": ("recap:decide",),
    "demo": ("recap:demo",),
    "evaluate": ("recap:evaluate",),
    "graph check": ("recap.claims:check_graph",),
    "graph learn": ("recap.evaluation.learned_graph:learn_graph",),
    "graph show": ("recap:load_graph",),
    "import": ("recap:import_log",),
    "parse": ("recap:parse", "recap:extract"),
    "plan": ("recap:plan_labels",),
    "probe": ("recap:probe",),
    "queue": ("recap:queue",),
    "reproduce": ("recap:reproduce",),
    "score": ("recap:score",),
    "table convert": ("recap:read_table",),
    "table label": ("recap:label",),
}
NO_FUNCTION = {"serve", "data list"}
"""a process of its own, and a list that is data already: DATASETS"""
OTHER_NAMES = {
    "compare": {"risk": "risks"},
    "evaluate": {"risk": "risks"},
    "import": {"file": "path"},
    "reproduce": {"model": "models"},
    "graph check": {"file": "path"},
    "graph show": {"graph": "path"},
    "data fetch": {"dataset": "name", "no_images": "images"},
    "data stats": {"dataset": "name"},
    "data unpack": {"dataset": "name"},
    "table convert": {"table": "path"},
}
EITHER = "answers max_pixels samples"
"""options of every model, here or served"""
ONLY_PRINTING = {"json", "context", "list_", "form"}
WRITTEN_BY_THE_COMMAND = {
    ("score", "out"),
    ("decide", "out"),
    ("evaluate", "out"),
    ("graph learn", "out"),
    ("plan", "out"),
    ("queue", "out"),
    ("table label", "out"),
    ("table convert", "out"),
}
"""the result is returned, or written by `write_table` and the like"""
READ_WITH = {("graph learn", "graph"), ("parse", "graph")}
"""the option names the file that the function's table or graph comes from"""
ELSEWHERE = {
    ("bench", "against"),  # recap.bench.against, with the two options after it
    ("bench", "pictures"),  # recap.bench.pictures, with its model
    ("bench", "model"),
    ("bench", "server"),
    ("bench", "concurrency"),
    ("bench", "arch"),  # tiny, for a first try; a function is told which
    ("bench", "images"),  # 820, or 200 against a server
    ("demo", "out"),
    ("reproduce", "out"),
    ("audit", "model"),  # the command asks a model in the box where none is named
    ("captions", "model"),
    ("audit", "question"),  # either one or a text: two functions
    ("audit", "text"),
    ("parse", "question"),
    ("parse", "text"),
}


def commands() -> dict[str, Callable[..., Any]]:
    found = {str(each.name): each.callback for each in app.registered_commands}
    for group in app.registered_groups:
        assert group.typer_instance is not None
        found |= {f"{group.name} {each.name}": each.callback for each in group.typer_instance.registered_commands}
    return {name: callback for name, callback in found.items() if callback is not None}


def function(place: str) -> Callable[..., Any]:
    module, _, path = place.partition(":")
    value: Any = importlib.import_module(module)
    for name in path.split("."):
        value = getattr(value, name)
    return value


def test_every_command_is_here() -> None:
    assert set(commands()) == FUNCTIONS.keys() | NO_FUNCTION


@pytest.mark.parametrize("command", FUNCTIONS)
def test_the_function_has_every_option_with_its_default(command: str) -> None:
    known: dict[str, inspect.Parameter] = {}
    for place in FUNCTIONS[command]:
        known |= inspect.signature(function(place)).parameters
    passes_on = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in known.values())
    for name, option in inspect.signature(commands()[command]).parameters.items():
        if name in ONLY_PRINTING or (command, name) in WRITTEN_BY_THE_COMMAND | READ_WITH | ELSEWHERE:
            continue
        called = OTHER_NAMES.get(command, {}).get(name, name)
        if called not in known:
            assert passes_on, f"{name} is an option of recap {command}, but not of {FUNCTIONS[command]}"
            assert name in f"{LOCAL} {REMOTE} {EITHER}".split()
            assert option.default in (None, False), f"{name}: what is not given is left to the model"
        elif option.default is not inspect.Parameter.empty:
            default = known[called].default
            expected = not option.default if called == "images" and name == "no_images" else option.default
            assert default == expected or (isinstance(expected, Path) and str(default) == str(expected)), name
