"""Reading and validating a graph file. Every problem names its line, so a user's own graph is easy to mend."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, cast

from recap.claims.graph import Graph, Relation
from recap.errors import RecapError, did_you_mean
from recap.files import reading

_KEYS = {
    "family": (str, "a string"),
    "canonical": (str, "the name of a relation"),
    "contradictions": (list, "a list of relation names"),
    "supports": (dict, "a table of relation = weight"),
    "phrases": (list, "a list of phrases"),
    "question": (str, 'a sentence such as "Is the {s} astride the {o}?"'),
}


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a graph file."""

    line: int
    what: str


@cache
def default_graph() -> Graph:
    """The paper's graph, shipped with the package."""
    text = resources.files("recap.claims").joinpath("graph.toml").read_text("utf-8")
    return graph_from_text("graph.toml", text)


def load_graph(path: str | Path | None = None) -> Graph:
    """The graph in this file, validated, or the paper's own."""
    if path is None:
        return default_graph()
    return graph_from_text(str(path), _read(Path(path)))


def check_graph(path: str | Path) -> list[Problem]:
    """Everything that is wrong with a graph file, in the order of its lines."""
    return _Checker(_read(Path(path))).problems


def _read(path: Path) -> str:
    with reading(path, "graph"):
        return path.read_text("utf-8-sig")


def graph_from_text(name: str, text: str) -> Graph:
    """The graph that this text states; the first problem is an error that names its line."""
    checker = _Checker(text)
    if checker.problems:
        first, more = checker.problems[0], len(checker.problems) - 1
        rest = f" (and {more} more: recap graph check)" if more else ""
        raise RecapError(f"{name}:{first.line}: {first.what}{rest}")
    return checker.graph()


class _Checker:
    """Reads the text once, collects problems, and holds the graph if there were none."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.relations: dict[str, Relation] = {}
        self.families: dict[str, str] = {}
        self.problems = sorted(self._check(), key=lambda p: p.line)

    def graph(self) -> Graph:
        """The graph; an alias that states no contradictions gets the mirror of its canonical relation's."""
        full = {
            name: replace(node, contradictions=self._mirror(node.canonical)) if node.canonical else node
            for name, node in self.relations.items()
        }
        return Graph(full, self.families)

    def _check(self) -> Iterator[Problem]:
        try:
            data = tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            line = re.search(r"at line (\d+)", str(error))
            at = int(line.group(1)) if line else self.text.count("\n") + 1
            yield Problem(at, f"not valid TOML: {re.sub(r' ?.at (line|end).*', '', str(error)).lower()}")
            return
        except (RecursionError, ValueError):
            yield Problem(1, "not a graph file: it nests too deeply, or holds a number beyond all bounds")
            return
        for key in data:
            if key not in ("version", "families", "relations"):
                hint = did_you_mean(key, ("version", "families", "relations"))
                yield Problem(self._line(key), f'"{key}" is not a part of a graph file{hint}')
        if data.get("version", 1) != 1:
            yield Problem(self._line("version"), "this is not version 1 of the graph file, the only one known here")
        yield from self._read_families(data.get("families", {}))
        entries = data.get("relations")
        if not isinstance(entries, dict) or not entries:
            yield Problem(1, "the graph has no [relations.NAME] tables")
            return
        for name, entry in cast("dict[str, Any]", entries).items():
            wrong = list(self._read_relation(name, entry))
            yield from wrong
        yield from self._check_phrases()
        for node in self.relations.values():
            yield from self._check_canonical(node)
        for node in self.relations.values():
            yield from self._check_contradictions(node)
            yield from self._check_supports(node)

    def _read_families(self, families: Any) -> Iterator[Problem]:
        if not isinstance(families, dict) or not all(
            isinstance(v, str) for v in cast("dict[str, Any]", families).values()
        ):
            yield Problem(self._line("families"), "[families] must give each family a name to read")
            return
        self.families = dict(cast("dict[str, str]", families))

    def _read_relation(self, name: str, entry: Any) -> Iterator[Problem]:
        if not isinstance(entry, dict):
            yield Problem(self._line(name), f"[relations.{name}] must be a table")
            return
        fields = cast("dict[str, Any]", entry)
        wrong = False
        for key, value in fields.items():
            if key not in _KEYS:
                hint = did_you_mean(key, _KEYS)
                yield Problem(self._line(name, key), f'{name}: "{key}" is not a field of a relation{hint}')
                wrong = True
            elif not isinstance(value, _KEYS[key][0]) or not _strings_in_list(value):
                yield Problem(self._line(name, key), f"{name}: {key} must be {_KEYS[key][1]}")
                wrong = True
        family = fields.get("family")
        if family is None:
            yield Problem(self._line(name), f"{name}: family is missing")
        elif isinstance(family, str) and self.families and family not in self.families:
            hint = did_you_mean(family, self.families)
            yield Problem(self._line(name, "family"), f'{name}: family "{family}" is not in [families]{hint}')
        question = fields.get("question")
        if isinstance(question, str) and not ("{s}" in question and "{o}" in question):
            yield Problem(self._line(name, "question"), f"{name}: question must hold {{s}} and {{o}}")
        # A relation that cannot be read still exists, or every edge to it would be reported too.
        self.relations[name] = (
            Relation(name, family if isinstance(family, str) else "")
            if wrong
            else Relation(
                name,
                str(family),
                fields.get("canonical"),
                tuple(fields.get("contradictions", ())),
                {other: _weight(weight) for other, weight in fields.get("supports", {}).items()},
                tuple(fields.get("phrases", ())),
                question,
            )
        )

    def _check_phrases(self) -> Iterator[Problem]:
        owners: dict[str, str] = {}
        for node in self.relations.values():
            for phrase in node.phrases:
                line, said = self._line(node.name, "phrases"), " ".join(phrase.lower().split())
                if not said:
                    yield Problem(line, f"{node.name}: a phrase is empty")
                elif owners.setdefault(said, node.name) != node.name:
                    yield Problem(line, f'{node.name}: the phrase "{said}" is already one of {owners[said]}')

    def _check_canonical(self, node: Relation) -> Iterator[Problem]:
        if node.canonical is None:
            return
        line = self._line(node.name, "canonical")
        target = self.relations.get(node.canonical)
        if target is None:
            yield Problem(line, self._unknown(node.name, "canonical", node.canonical))
        elif target is node:
            yield Problem(line, f"{node.name}: canonical names the relation itself; leave it out")
        elif target.canonical is not None:
            yield Problem(line, f"{node.name}: canonical {target.name} is itself an alias of {target.canonical}")
        elif target.family != node.family:
            yield Problem(line, f"{node.name}: family differs from that of its canonical relation {target.name}")
        elif self._inverse(target.name) != node.name:
            yield Problem(line, f"{node.name}: {target.name} has another alias already, {self._inverse(target.name)}")
        if node.supports:
            yield Problem(
                self._line(node.name, "supports"),
                f"{node.name}: an alias has no supports of its own; state them at {node.canonical}",
            )

    def _check_contradictions(self, node: Relation) -> Iterator[Problem]:
        line = self._line(node.name, "contradictions")
        for other in node.contradictions:
            if other not in self.relations:
                yield Problem(line, self._unknown(node.name, "contradictions", other))
            elif other == node.name:
                yield Problem(line, f"{node.name}: a relation cannot contradict itself")
            elif node.canonical is None and not self._reverse_edge_holds(node, other):
                yield Problem(
                    line, f"{node.name}: contradiction {other} is not symmetric: {self._reverse(node, other)}"
                )
        if len(set(node.contradictions)) < len(node.contradictions):
            yield Problem(line, f"{node.name}: a contradiction is listed twice")
        if node.canonical in self.relations and node.contradictions:
            mirror = self._mirror(node.canonical)
            if set(mirror) != set(node.contradictions):
                wanted = ", ".join(mirror) or "none"
                yield Problem(
                    line,
                    f"{node.name}: contradictions are not symmetric under canonicalisation: as {node.canonical} "
                    f"with swapped roles it has {wanted}",
                )

    def _check_supports(self, node: Relation) -> Iterator[Problem]:
        line = self._line(node.name, "supports")
        for other, weight in node.supports.items():
            if other not in self.relations:
                yield Problem(line, self._unknown(node.name, "supports", other))
            elif other == node.name:
                yield Problem(line, f"{node.name}: a relation cannot support itself")
            elif other in node.contradictions:
                yield Problem(line, f"{node.name}: support {other} is also a contradiction")
            if not _is_weight(weight):
                yield Problem(line, f"{node.name}: the weight of support {other} is {_plain(weight)}, outside (0, 1]")

    def _inverse(self, name: str) -> str | None:
        """The name for this relation with the two objects swapped, if the graph has one."""
        node = self.relations.get(name)
        if node is None or node.canonical:
            return node.canonical if node else None
        return next((r.name for r in self.relations.values() if r.canonical == name), None)

    def _mirror(self, claim: str) -> tuple[str, ...]:
        """The contradictions of a claim, each over the swapped pair; what has no name there is not said."""
        return tuple(b for a in self.relations[claim].contradictions if (b := self._inverse(a)) is not None)

    def _reverse(self, node: Relation, other: str) -> str:
        canonical = self.relations[other].canonical
        if canonical is None:
            return f"{other} does not list {node.name}"
        return f"{other} is {canonical} with swapped roles, which does not list {self._inverse(node.name)}"

    def _reverse_edge_holds(self, node: Relation, other: str) -> bool:
        """If c excludes a, then a excludes c, written over a's own canonical pair.

        `on` excludes `below`, which is `above` with swapped roles; there the reverse would need a name for
        "has on it", which the graph lacks: what cannot be said is not asked for.
        """
        canonical = self.relations[other].canonical
        if canonical is None:
            return node.name in self.relations[other].contradictions
        inverse = self._inverse(node.name)
        return inverse is None or canonical not in self.relations or inverse in self.relations[canonical].contradictions

    def _unknown(self, name: str, key: str, other: str) -> str:
        return f'{name}: unknown relation "{other}" in {key}{did_you_mean(other, self.relations)}'

    def _line(self, name: str, key: str | None = None) -> int:
        """Where a table, or a key in it, stands. tomllib keeps no positions, so look for the text itself."""
        lines = self.text.splitlines()
        quoted = rf"[\"']?{re.escape(name)}[\"']?"
        header = rf"^\s*\[(?:relations\.)?{quoted}\]|^\s*(?:relations\.)?{quoted}\s*="
        start = _first(lines, header, 0)
        if start is None:
            return 1
        if key is None:
            return start + 1
        end = _first(lines, r"^\s*\[", start + 1) or len(lines)
        inside = _first(lines[:end], rf"^\s*[\"']?{re.escape(key)}[\"']?\s*=", start)
        if inside is None:
            inside = _first(lines, rf"^\s*\[relations\.{quoted}\.{re.escape(key)}\]", 0)
        return (start if inside is None else inside) + 1


def _first(lines: list[str], pattern: str, start: int) -> int | None:
    return next((i for i in range(start, len(lines)) if re.match(pattern, lines[i])), None)


def _weight(weight: Any) -> Any:
    """1 and 1.0 are the same weight, and must give the same hash."""
    return float(weight) if isinstance(weight, int) and not isinstance(weight, bool) else weight


def _plain(weight: object) -> str:
    return f"{weight:g}" if isinstance(weight, float) else str(weight)


def _is_weight(weight: object) -> bool:
    return isinstance(weight, (int, float)) and not isinstance(weight, bool) and 0 < weight <= 1


def _strings_in_list(value: Any) -> bool:
    return not isinstance(value, list) or all(isinstance(v, str) for v in cast("list[Any]", value))
