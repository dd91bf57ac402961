"""Graph files, read and validated: every problem with its line."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from recap.claims.graph import Graph, Relation
from recap.claims.graph_rules import Place, broken_rules, mirrored
from recap.errors import RecapError, did_you_mean
from recap.files import reading
from recap.plugins import FAILURES, installed, load_plugin, told_by

MOST_PROBLEMS = 100
"""that are looked for: whoever mends these runs the check again"""
EXTENDED = "extended"
"""names the shipped graph that goes beyond the paper's, where a file is asked for"""


@dataclass(frozen=True)
class GraphProblem:
    """One thing wrong with a graph file."""

    line: int
    what: str


class _Entry(BaseModel):
    """A [relations.NAME] table. The descriptions are what an error says of a wrong value."""

    model_config = ConfigDict(extra="forbid", strict=True)

    family: str = Field(description="a string")
    canonical: str | None = Field(None, description="the name of a relation")
    contradictions: list[str] = Field([], description="a list of relation names")
    supports: dict[str, Annotated[float, Field(gt=0, le=1)]] = Field({}, description="a table of relation = weight")
    phrases: list[str] = Field([], description="a list of phrases")
    question: str | None = Field(None, description='a sentence such as "Is the {s} astride the {o}?"')


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    version: Literal[1] = 1
    families: dict[str, str] = {}
    relations: dict[str, _Entry] = Field(min_length=1)


@cache
def default_graph() -> Graph:
    """The paper's graph, shipped with the package."""
    text = resources.files("recap.claims").joinpath("graph.toml").read_text("utf-8")
    return graph_from_text("graph.toml", text)


@cache
def extended_graph() -> Graph:
    """The paper's graph and more relations with opposites (near and far, facing); for data beyond the paper's."""
    text = resources.files("recap.claims").joinpath("graph_extended.toml").read_text("utf-8")
    more, paper = graph_from_text("graph_extended.toml", text), default_graph()
    return Graph(paper.relations | more.relations, paper.families | more.families)


def load_graph(path: str | Path | None = None) -> Graph:
    """The graph in this file, validated; the one called `extended`; one that a package brings; or the paper's own."""
    if path is None:
        return default_graph()
    if str(path) == EXTENDED and not Path(path).exists():
        return extended_graph()
    if str(path) in installed("graphs") and not Path(path).exists():
        return _packaged(str(path))
    return graph_from_text(str(path), _read(path))


def _packaged(name: str) -> Graph:
    """A graph that another package brings: its TOML file, or a function that returns one."""
    brought = load_plugin("graphs", name)
    try:
        found: Any = brought() if callable(brought) else brought
    except RecapError:
        raise
    except FAILURES as error:
        raise RecapError(f"{told_by('graphs', name)} failed: {type(error).__name__}: {error}") from error
    if isinstance(found, Graph):
        return found
    found = Path(found) if isinstance(found, str) else found
    if not hasattr(found, "read_text"):
        raise RecapError(f"{told_by('graphs', name)} is neither a graph nor the path of its file")
    try:
        return graph_from_text(name, found.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise RecapError(f"{told_by('graphs', name)} cannot be read: {error}") from None


def check_graph(path: str | Path) -> list[GraphProblem]:
    """What is wrong with a graph file, in the order of its lines; its edges are looked at once its tables are right."""
    return _parsed(_read(path))[1]


def graph_from_text(name: str, text: str) -> Graph:
    """The graph that this text states; the first problem is an error that names its line."""
    graph, problems = _parsed(text)
    if problems:
        more = f" (and {len(problems) - 1} more: recap graph check)" if problems[1:] else ""
        raise RecapError(f"{name}:{problems[0].line}: {problems[0].what}{more}")
    # An alias that states no contradictions has the mirror of its canonical relation's.
    full = {
        name: replace(node, contradictions=mirrored(graph, node.canonical)) if node.canonical else node
        for name, node in graph.relations.items()
    }
    return replace(graph, relations=full)


def _read(path: str | Path) -> str:
    with reading(Path(path), "graph"):
        return Path(path).read_text("utf-8-sig")


def _parsed(text: str) -> tuple[Graph, list[GraphProblem]]:
    found: list[tuple[Place, str]] = []
    graph = Graph({}, {})
    try:
        file = _File.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        what = re.sub(r" ?.at (line|end).*", "", str(error)).lower()
        return graph, [GraphProblem(int(line[1]) if line else text.count("\n") + 1, f"not valid TOML: {what}")]
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_context=False)[:MOST_PROBLEMS]
        found += [_explained(tuple(map(str, each["loc"])), each["type"], each["input"]) for each in wrong]
    except (RecursionError, ValueError):
        found.append(((), "not a graph file: it nests too deeply, or holds a number beyond all bounds"))
    else:
        graph = Graph({name: _relation(name, entry) for name, entry in file.relations.items()}, file.families)
        found += islice(broken_rules(graph), MOST_PROBLEMS)
    problems = [GraphProblem(_line(text, *where), what) for where, what in dict.fromkeys(found)]
    return graph, sorted(problems, key=lambda problem: problem.line)


def _relation(name: str, of: _Entry) -> Relation:
    edges = tuple(of.contradictions), of.supports
    return Relation(name, of.family, of.canonical, *edges, tuple(of.phrases), of.question)


def _explained(where: tuple[str, ...], kind: str, value: Any) -> tuple[Place, str]:
    """A place, as `_line` takes it, and what is wrong there in our own words."""
    match where:
        case ("relations",):
            return (), "the graph has no [relations.NAME] tables"
        case ("relations", name):
            return (name,), f"[relations.{name}] must be a table"
        case ("relations", name, "supports", other, *_):
            shown = f"{value:g}" if isinstance(value, float) else value
            return (name, "supports"), f"{name}: the weight of support {other} is {shown}, outside (0, 1]"
        case ("relations", name, key, *_):
            if kind == "extra_forbidden":
                hint = did_you_mean(key, _Entry.model_fields)
                return (name, key), f'{name}: "{key}" is not a field of a relation{hint}'
            if kind == "missing":
                return (name,), f"{name}: {key} is missing"
            return (name, key), f"{name}: {key} must be {_Entry.model_fields[key].description}"
        case ("version",):
            return where, "this is not version 1 of the graph file, the only one known here"
        case ("families", *_):
            return ("families",), "[families] must give each family a name to read"
        case _:
            return where, f'"{where[0]}" is not a part of a graph file{did_you_mean(where[0], _File.model_fields)}'


def _line(text: str, name: str | None = None, key: str | None = None) -> int:
    """Where a table, or a key in it, stands. tomllib keeps no positions, so look for the text itself."""
    lines = text.splitlines()

    def first(pattern: str, start: int = 0, end: int | None = None) -> int | None:
        return next((i for i, line in enumerate(lines[:end]) if i >= start and re.match(pattern, line)), None)

    quoted = rf"[\"']?{re.escape(name or '')}[\"']?"
    start = first(rf"^\s*\[(?:relations\.)?{quoted}\]|^\s*(?:relations\.)?{quoted}\s*=") if name else None
    if start is None or key is None:
        return 1 if start is None else start + 1
    end = first(r"^\s*\[", start + 1)
    inside = first(rf"^\s*[\"']?{re.escape(key)}[\"']?\s*=", start, end)
    if inside is None:
        inside = first(rf"^\s*\[relations\.{quoted}\.{re.escape(key)}\]")
    return (start if inside is None else inside) + 1
