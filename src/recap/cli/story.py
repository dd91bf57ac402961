"""What `recap demo` tells: two simulated models, each calibrated, audited and measured."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from recap.errors import RecapError
from recap.evaluation import Evaluation, calibration_rows, evaluate
from recap.evaluation.simulate import ALIGNED, BIASED, SimulatedModel, simulate
from recap.files import make_folder
from recap.policy import Decision, Policy, calibrate_table, decide, save_policy
from recap.table import MarginTable, write_table

COMPARED = ("confidence", "recap-img", "recap-selector", "recap")
SHOWN = ("coverage", "acc", "hfpr", "hall_auc")


def tell(out: Path, groups: int, seed: int) -> None:
    """Write tables and policies to `out`, and print what they show."""
    if seed < 0:
        raise RecapError(f"seed is {seed}; it must not be negative")
    if groups < 40:
        raise RecapError(f"groups is {groups}; the demo needs at least 40 to calibrate on a fifth of them")
    make_folder(out)
    console = Console(highlight=False)
    console.print("Margins below are [bold]simulated[/bold]: no model ran. Everything after them is the real thing.\n")
    for model in (ALIGNED, BIASED):
        _one_model(console, out, model, groups, seed)
    console.print(f"Tables and policies are in {escape(str(out))}. Go on with, for example:")
    table, policy = out / f"{BIASED.name}.jsonl", out / f"{BIASED.name}-policy.json"
    console.print(
        f"  recap evaluate {escape(str(table))}\n  recap decide {escape(str(table))} --policy {escape(str(policy))}"
    )


def _one_model(console: Console, out: Path, model: SimulatedModel, groups: int, seed: int) -> None:
    table = simulate(model, groups, seed, outside=0.2)
    side = calibration_rows([row.unit for row in table.rows], 0)
    calibration, held = table.where(side), table.where(~side)
    policy = calibrate_table(calibration, 0.8)
    write_table(table.rows, out / f"{model.name}.jsonl")
    save_policy(policy, out / f"{model.name}-policy.json")
    decisions = list(decide(policy, held))
    console.rule(f"[bold]{model.name}", align="left")
    _describe(console, policy, calibration, decisions)
    for told in _examples(decisions, held):
        console.print(f"  {escape(told)}")
    console.print(_grid(evaluate(table, splits=20)))
    console.print()


def _describe(console: Console, policy: Policy, calibration: MarginTable, decisions: list[Decision]) -> None:
    accepted = np.mean([decision.accepted for decision in decisions])
    console.print(f"Calibrated on {len(calibration)} labelled statements → mode [bold]{policy.mode}[/bold]")
    if policy.gate:
        console.print(f"  {policy.gate.verdict}")
    console.print(f"Audited {len(decisions)} other answers: {accepted:.0%} accepted. For example:")


def _examples(decisions: list[Decision], held: MarginTable) -> list[str]:
    """One accepted answer, and one rejected by each kind of witness that rejected any."""
    told: dict[str, str] = {}
    for decision, row in zip(decisions, held.rows, strict=True):
        kind = "accepted" if decision.accepted else (decision.witness.kind if decision.witness else "none")
        truth = "rightly" if decision.accepted == (decision.answer == row.label) else "wrongly"
        told.setdefault(
            kind, f'"{decision.answer}" to {row.subject} {row.relation} {row.object}: {truth} {decision.reason}'
        )
    return list(told.values())


def _grid(result: Evaluation) -> Grid:
    count = result.n - result.uncovered
    grid = Grid(
        title=f"{count} statements inside the graph, means over {result.splits} held-out splits, %",
        title_justify="left",
    )
    grid.add_column("risk")
    for heading in ("coverage", "accuracy", "H-FPR", "Hall-AUC"):
        grid.add_column(heading, justify="right")
    for name in COMPARED:
        summary = result.inside[name].to_json()
        cells = [f"{100 * summary[metric]:.1f}" for metric in SHOWN]
        grid.add_row(name + (" (deployed)" if name == "recap" else ""), *cells, style="bold" if name == "recap" else "")
    return grid
