"""`recap calibrate`: mode and threshold from labelled rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import recap
from recap.cli import options as opt
from recap.cli.console import notice, print_json

FEW_UNITS = 30
"""with fewer, the coverage that was asked for is little more than a guess"""


def run(
    table: opt.Table,
    out: Annotated[Path, opt.output("FILE", "Policy file to write.")],
    coverage: Annotated[
        float | None, typer.Option("--coverage", "-c", help="Share of answers to accept.", show_default="0.8")
    ] = None,
    risk_at_most: Annotated[
        float | None,
        typer.Option(help="Accept as many as possible while at most this share of them is bad.", show_default=False),
    ] = None,
    confidence: Annotated[
        float | None, typer.Option(help="How sure --risk-at-most must be.", show_default="0.9")
    ] = None,
    of: Annotated[
        str | None, opt.option("EVENT", "Which answers are bad: error (wrong) or hallucination.", "error")
    ] = None,
    per: Annotated[
        str | None, opt.option("GROUP", "family: keep the risk in every relation family.", "all answers together")
    ] = None,
    gate: Annotated[
        str | None,
        opt.option(
            "GATE",
            "Who chooses the mode: utility (what accepts best?) or paper (may confidence veto?).",
            "utility; paper below 20 units",
        ),
    ] = None,
    mode: Annotated[
        str | None,
        opt.option("MODE", "recap-img, recap-selector, staged, confidence, or any risk by name.", "the gate decides"),
    ] = None,
    first: Annotated[
        float | None,
        typer.Option(help="staged: share that confidence accepts before any probe.", show_default="0.6"),
    ] = None,
    target_scores: Annotated[
        Path | None,
        opt.option(
            "TABLE",
            "Rank the threshold on these rows instead; they need no labels, and their labels are not used.",
            "TABLE's own rows",
        ),
    ] = None,
    repair: Annotated[
        bool, typer.Option("--repair", help="Offer the opposite answer where enough speaks for it, with a promise.")
    ] = False,
    repair_at_most: Annotated[
        float | None,
        typer.Option(help="Share of the corrected answers that may be wrong.", show_default="--risk-at-most, else 0.1"),
    ] = None,
    undecided: Annotated[
        bool,
        typer.Option("--undecided", help='Say "cannot be told" where claim and contradiction have the same support.'),
    ] = False,
    presuppositions: Annotated[
        Path | None,
        opt.option(
            "TABLE",
            "Existence rows and claims about absent things: they calibrate what texts suppose, and nothing else.",
            "TABLE's own such rows",
        ),
    ] = None,
    level: opt.Level = 0.95,
    graph: opt.GraphFile = None,
    any_model: opt.AnyModel = False,
    json: opt.Json = False,
) -> None:
    """Calibrate a policy on the labelled rows of TABLE and freeze it in a file.

    Labels choose the mode: what accepts the most right answers, of confidence, relation evidence, both together and
    the fitted risks. With --gate paper, and with fewer than 20 units, confidence stays as a veto (recap-selector) only
    if labels show that it deserves it; otherwise relation evidence decides alone (recap-img). Rows outside the graph
    calibrate the confidence fallback.

    On other pictures a calibrated threshold accepts more or less than its share. With --target-scores the labels of
    TABLE still choose the mode, and the threshold is ranked on the other table's rows, without labels.

    With --risk-at-most the policy carries a guarantee about its errors: answers of one unit may depend on each other as
    they like. If TABLE cannot show it, nothing is written, and the smallest risk that it can show is named.

    With --repair the policy also corrects: the opposite answer is offered where labels show that at most so many of
    the corrections are wrong. With --undecided it says "cannot be told" where the picture affirms a claim together with
    its contradiction, or denies both, and labels do not show that such answers are right more often than wrong.

    \b
    Example: recap calibrate calibration.jsonl --coverage 0.8 --out policy.json
             recap calibrate calibration.jsonl --target-scores new.jsonl --out policy.json
             recap calibrate calibration.jsonl --risk-at-most 0.1 --confidence 0.9 --out policy.json
             recap calibrate calibration.jsonl --repair --repair-at-most 0.1 --undecided --out policy.json
    """
    options = opt.pick(
        locals(),
        "out coverage risk_at_most confidence of per gate mode first level any_model repair repair_at_most undecided",
    )
    from recap.files import refuse_overwriting
    from recap.policy import labelled_rows, policy_json
    from recap.policy.existence import existence_rows
    from recap.statistics import accuracy, hallucination_fpr

    refuse_overwriting(out, table, target_scores, presuppositions, graph)
    relations = recap.load_graph(graph)
    rows = recap.read_table(table, relations)
    target = None if target_scores is None else recap.read_table(target_scores, relations)
    supposed = None if presuppositions is None else recap.read_table(presuppositions, relations)
    policy = recap.calibrate(rows, **options, target_scores=target, presuppositions=supposed)
    ranked = policy.ranked_on
    if target is not None and ranked is not None and ranked.rows < len(target):
        notice(f"{len(target) - ranked.rows} of {len(target)} target rows cannot be scored and were left out")
    stated = existence_rows(rows)
    left_out = len(rows) - policy.counts.rows - int((stated & rows.labelled).sum())
    if left_out:
        notice(f"{left_out} of {len(rows)} rows have no label and were left out")
    units = (ranked or policy.counts).units
    if units < FEW_UNITS and policy.guarantee is None:
        notice(
            f"the threshold rests on {units} unit{'s' * (units != 1)} only: by chance, the coverage of new answers "
            f"may miss {policy.coverage:.0%} by ±{100 * policy.coverage_error:.0f} points (one standard deviation)"
        )
    labelled = labelled_rows(rows)
    if units < FEW_UNITS and policy.guarantee is None and not ranked:
        notice(_provable(rows, policy, options))
    accepted = policy.apply(policy.scores(labelled)).accepted
    right, hfpr = (metric(accepted, labelled.yes, labelled.positive) for metric in (accuracy, hallucination_fpr))
    taken, negatives = int(accepted.sum()), int((accepted & ~labelled.positive).sum())
    if json:
        import json as encoder

        measured = {"accuracy": right if taken else None, "hfpr": hfpr if negatives else None}
        among = {"rows": taken, "of": len(labelled), "negatives": negatives}
        print_json(encoder.loads(policy_json(policy)) | {"accepted": among | measured})
        return
    counts = policy.counts
    outside = f", {counts.rows - counts.covered} of them outside the graph" if policy.fallback else ""
    typer.echo(f"mode       {policy.mode}" + ("" if mode is None else "  (as asked)"))
    if policy.guarantee is None or not policy.guarantee.per_family:
        typer.echo(f"threshold  {policy.threshold:.4f} for {policy.coverage:.0%} coverage{_withheld(policy, coverage)}")
    else:
        for family, threshold in policy.guarantee.thresholds.items():
            typer.echo(f"threshold  {'none  ' if threshold is None else f'{threshold:.4f}'} for {family}")
    if policy.staged:
        typer.echo(f"first      confidence risk ≤ {policy.staged.threshold:.4f} is accepted without probing")
    if policy.utility:
        typer.echo(f"utility    {policy.utility.verdict}")
    elif policy.gate:
        typer.echo(f"gate       {policy.gate.verdict}")
    typer.echo(f"fitted on  {counts.rows} rows in {counts.units} units{outside}")
    shares = [f"{value:.1%}" if n else "undefined" for value, n in ((right, taken), (hfpr, negatives))]
    typer.echo(
        f"accepts    {taken} of these {len(labelled)} answers: {shares[0]} right, H-FPR {shares[1]} (n = {negatives})"
    )
    if policy.repair is not None:
        made = policy.repair
        share = made.corrected / made.rows
        typer.echo(
            f"corrects   {share:.1%} of the tested answers, by {made.risk}: {made.before:.1%} → {made.after:.1%} right"
        )
    if policy.undecided is not None:
        typer.echo(f"undecided  {policy.undecided.verdict}")
    typer.echo(f"promise    {policy.promise}")
    if policy.existence:
        typer.echo(f"existence  {policy.existence.statement}")
    if policy.presupposition:
        typer.echo(f"texts      {policy.presupposition.statement}")
    if ranked:
        typer.echo(f"ranked on  {ranked.rows} target rows in {ranked.units} units; their labels, if any, chose nothing")
        typer.echo(
            f"there      calibration's threshold {ranked.source_threshold:.4f} accepts {ranked.source_coverage:.1%}"
        )
    typer.echo(f"policy     {out}")


def _withheld(policy: recap.Policy, coverage: float | None) -> str:
    """Why less is accepted than was asked for; nothing where it is not."""
    from recap.commands import COVERAGE

    asked = COVERAGE if coverage is None else coverage
    kinds = [(policy.repair, "are corrected"), (policy.undecided, "cannot be told")]
    why = " or ".join(word for part, word in kinds if part is not None)
    if not why or policy.guarantee is not None or f"{policy.coverage:.0%}" == f"{asked:.0%}":
        return ""
    return f" (within the threshold for the {asked:.0%} asked for, answers that {why} are not accepted)"


def _provable(table: recap.MarginTable, policy: recap.Policy, options: dict[str, Any]) -> str:
    """What so few units can promise at best: what --risk-at-most would grant with the same options."""
    from recap.commands import CONFIDENCE_LEVEL
    from recap.policy.calibration import smallest_provable
    from recap.policy.guarantee import percent

    asked: dict[str, Any] = opt.pick(options, "gate mode level undecided")
    asked |= {"repair": policy.repair and policy.repair.wrong_at_most}
    confidence = CONFIDENCE_LEVEL if options["confidence"] is None else options["confidence"]
    how = "--risk-at-most"
    if policy.repair is not None:
        how += f" with --repair-at-most {policy.repair.wrong_at_most:g}"
    if policy.staged is not None:
        asked["mode"], how = None, f"{how} without --mode staged"
    try:
        smallest = smallest_provable(table, confidence, **asked)
    except recap.RecapError as error:
        return f"nothing can be promised about errors: {error}"
    told = f"with {percent(confidence)} confidence, "
    if smallest is None:
        return f"{told}these units cannot promise any risk below 1"
    return f"{told}the smallest risk that these units could promise is {smallest:.3g} ({how})"
