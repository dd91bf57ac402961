"""What a margin table lacks for an audit: which probes, for which rows, and the table again once they were asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from recap.claims import Graph, Statement
from recap.errors import RecapError
from recap.models.contract import same_model
from recap.probes import Plan, Role, plan_probes
from recap.probing import Item
from recap.table import Direct, MarginTable, Row


@dataclass(frozen=True)
class Gaps:
    """The rows of a table that lack probes, as statements with plans of what is missing and nothing else."""

    table: MarginTable
    items: tuple[Item, ...]
    plans: tuple[Plan, ...]

    @classmethod
    def of(cls, table: MarginTable, probes: str = "img", wrapper: str = "plain") -> Gaps:
        """What the rows lack of this probe set. Probes that a row has are not asked again, whoever asked them."""
        items: list[Item] = []
        plans: list[Plan] = []
        for i, row in enumerate(table.rows):
            plan = missing_plan(row, table.graph, probes, wrapper)
            if not plan.roles:
                continue
            if not row.subject or (not row.object and row.relation != "exists"):
                raise RecapError(f"{table.at(i)}: subject or object is missing, so nothing can be asked about them")
            if row.image is None:
                raise RecapError(f"{table.at(i)}: image is missing: it is not known which picture this is about")
            # The answer that is audited stays the one that was given, whatever the probes say.
            answer = "yes" if row.says_yes else "no"
            said = _statement(row, table.graph)
            items.append(Item(row.id, row.dataset or "", row.unit, row.image, said, row.label, _asked(row), answer))
            plans.append(plan)
        return cls(table, tuple(items), tuple(plans))

    def names_only(self, name: str) -> bool:
        """Whether all its margins are of a model of this name, as far as rows tell: it need not be loaded for that."""
        return all(row.model is None or row.model.rpartition("@")[0] == name for row in self.table.rows)

    def check_model(self, identity: str, *, any_model: bool = False) -> None:
        """Margins of two models in one row would mean nothing."""
        for i, row in enumerate(self.table.rows):
            if row.model is not None and not any_model and same_model(row.model, identity) == "another":
                raise RecapError(
                    f'{self.table.at(i)}: its margins are of "{row.model}", and the missing ones would be of '
                    f'"{identity}"; ask that model, or use --any-model'
                )

    def filled(self, found: Iterable[Row]) -> list[Row]:
        """The table's rows with what was found added; what a row had stays.

        Rows that still lack something are left out, as probing leaves out what cannot be shown: with holes in it the
        table could not be evaluated.
        """
        answered, lacking = {row.id: row for row in found}, {item.id for item in self.items}
        return [
            _merged(row, answered[row.id]) if row.id in answered else row
            for row in self.table.rows
            if row.id in answered or row.id not in lacking
        ]


def missing_probes(rows: Sequence[Row], graph: Graph, probes: str = "img") -> dict[str, int]:
    """Each input of the probe set that some row lacks, and how many rows do: `direct.image`, `image.claim`, …"""
    counted: Counter[str] = Counter()
    for row in rows:
        counted.update(dict.fromkeys((_need(role) for role in missing_plan(row, graph, probes).roles), 1))
    return dict(counted)


def missing_plan(row: Row, graph: Graph, probes: str = "img", wrapper: str = "plain") -> Plan:
    """The roles of a row's plan for which it has no margin."""
    claim = graph.claim(_statement(row, graph))
    plan = plan_probes(claim, probes, graph=graph, asked=_asked(row), wrapper=wrapper)
    return replace(plan, roles=tuple(role for role in plan.roles if not _known(row, role)))


def _known(row: Row, role: Role) -> bool:
    if role.kind == "direct":
        return getattr(row.direct, role.probe.view.value) is not None
    if role.kind == "paraphrase":
        return row.direct.paraphrases is not None
    if role.kind.startswith("ca_"):
        return getattr(row.direct, role.kind) is not None
    return row.margin(role.probe.view.value, role.relation or "") is not None


def _need(role: Role) -> str:
    """The name that a risk has for this input."""
    if role.kind == "direct":
        return f"direct.{role.probe.view.value}"
    if role.kind == "paraphrase" or role.kind.startswith("ca_"):
        return "direct.paraphrases" if role.kind == "paraphrase" else f"direct.{role.kind}"
    plural = {"claim": "claim", "contradiction": "contradictions", "support": "supports"}[role.kind]
    return f"{role.probe.view.value}.{plural}"


def _asked(row: Row) -> str | None:
    """The question in the asker's own words, which imported rows keep in a column of that name."""
    asked = (row.model_extra or {}).get("question")
    return asked if isinstance(asked, str) and asked.strip().endswith("?") else None


def _statement(row: Row, graph: Graph) -> Statement:
    """What a row says; with the grammar of its question where it kept one that says the same."""
    asked = _asked(row)
    if asked is not None and row.relation in graph:
        try:
            said = graph.parse(asked).statement
        except RecapError:
            said = None
        if said is not None and (said.subject, said.relation, said.object) == (row.subject, row.relation, row.object):
            return said
    family = graph.family_of(row.relation)
    return Statement(row.subject, row.relation, row.object, family, row.relation.replace("_", " "), False)


def _merged(row: Row, found: Row) -> Row:
    def told(part: Direct) -> dict[str, Any]:
        return part.model_dump(exclude_none=True)

    direct = Direct(**told(found.direct) | told(row.direct))
    channels = {*row.margins, *found.margins}
    margins = {
        name: (found.margins.get(name) or {})
        | {k: v for k, v in (row.margins.get(name) or {}).items() if v is not None}
        for name in sorted(channels)
    }
    return row.model_copy(update={"direct": direct, "margins": margins, "model": row.model or found.model})


__all__ = ["Gaps", "missing_plan", "missing_probes"]
