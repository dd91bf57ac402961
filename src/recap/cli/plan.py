"""`recap plan`: how many labelled pictures a guarantee takes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import recap
from recap.cli import options as opt
from recap.cli.console import check_format, notice, print_as, print_json, print_tables
from recap.files import check_writable, refuse_overwriting
from recap.tabular import Tabular


def run(
    table: opt.Table,
    risk_at_most: Annotated[float, typer.Option(help="The share of accepted answers that may be bad.")],
    units: Annotated[int, opt.option("N", "How many pictures (units) could be labelled at most.")],
    confidence: Annotated[float, typer.Option(help="How sure the promise must be.")] = 0.9,
    of: Annotated[str, opt.option("EVENT", "Which answers are bad: error (wrong) or hallucination.")] = "error",
    mode: Annotated[
        str | None, opt.option("MODE", "recap-img, recap-selector or confidence.", "the gate decides")
    ] = None,
    graph: opt.GraphFile = None,
    json: opt.Json = False,
    form: opt.Format = None,
    out: Annotated[Path | None, opt.output("FILE", "Also draw the plan there (.svg).")] = None,
) -> None:
    """Plan the labels: which coverage a guarantee would leave with so many labelled pictures, from a pilot TABLE.

    The pilot's units are resampled to calibration sets of growing size, and each is calibrated as recap calibrate
    --risk-at-most would. A small pilot knows little, and the widths say so.

    \b
    Example: recap plan pilot.jsonl --risk-at-most 0.05 --units 1000 --out plan.svg
    """
    options = opt.pick(locals(), "risk_at_most units confidence of mode graph")
    check_format(form, json)
    if out is not None:
        refuse_overwriting(out, table, graph)
        check_writable(out)
    found = recap.plan_labels(table, **options)
    if out is not None:
        from recap.files import write_text
        from recap.report.charts import Line, line_chart
        from recap.report.charts.svg import standalone

        lines = {
            "median": "coverage",
            "9 in 10 accept fewer": "high",
            "1 in 10 accepts fewer": "low",
            "draws with a promise": "possible",
        }
        drawn = [Line(name, [100 * getattr(step, value) for step in found.steps]) for name, value in lines.items()]
        label = f"% of answers accepted, and of draws with a promise, by labelled units (risk ≤ {found.risk_at_most:g})"
        chart = line_chart([str(step.units) for step in found.steps], drawn, label, low=0, high=100)
        write_text(out, standalone(chart))
        notice(f"plan drawn → {out}")
    if json:
        print_json(found.to_json())
        return
    if form is not None:
        print_as(form, map(vars, found.steps), [_table(found)])
        return
    from rich.console import Console

    console = Console(highlight=False)
    print_tables([_table(found)], console)
    console.print(f"From a pilot of {found.pilot_rows} answers in {found.pilot_units} units: {found.verdict}.")


def _table(found: recap.LabelPlan) -> Tabular:
    title = f"{found.mode}, risk ≤ {found.risk_at_most:g}, confidence {found.confidence:g}"
    rows = tuple(
        (str(step.units), f"{step.possible:.0%}", f"{step.coverage:.0%}", f"{step.low:.0%} to {step.high:.0%}")
        for step in found.steps
    )
    return Tabular(title, ("labelled units", "promise possible", "accepts", "8 in 10"), rows)
