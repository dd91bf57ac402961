"""`recap graph` and `recap parse`: the relation graph, one's own or learned, and the claims that are read with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import recap
from recap.cli import options as opt
from recap.cli.console import print_json
from recap.errors import RecapError

if TYPE_CHECKING:
    from recap.claims.text import Extraction

app = opt.command_group("The relation graph: show it, check your own, or learn more of it.")


def parse(
    question: Annotated[str | None, opt.argument("QUESTION", "A question or statement.")] = None,
    text: Annotated[str | None, opt.option("TEXT", "Instead: any text, of which every claim is shown.")] = None,
    exists: Annotated[bool, typer.Option("--exists", help="With --text: also the things it says are there.")] = False,
    graph: opt.GraphFile = None,
    json: opt.Json = False,
) -> None:
    """Show the claim that a question or statement makes, its canonical form, and its probes.

    With --text, show all spatial claims of a caption or answer with their places, and what was not understood.

    \b
    Example: recap parse "Is the mug to the right of the laptop?"
    Example: recap parse --text "A mug and a plate are on the table, which is under a lamp."
    """
    relations = recap.load_graph(graph)
    if (question is None) == (text is None):
        raise RecapError("give either one QUESTION or a --text")
    if text is not None:
        _show_text(recap.extract(text, relations, exists=exists), as_json=json)
        return
    if exists:
        raise RecapError("--exists goes with --text")
    claim = relations.parse(question or "")
    said = claim.statement
    asked = " ".join((question or "").split()) if said.is_question else None
    questions = recap.plan_probes(claim, "img", graph=relations, asked=asked).questions()
    family = relations.family_of(said.relation)
    if json:
        stated = {name: getattr(said, name) for name in ("subject", "relation", "phrase", "object")}
        audited = {name: getattr(claim, name) for name in ("swapped", "contradictions", "supports")}
        print_json(stated | {"family": family, "claim": claim.relation} | audited | {"questions": questions})
        return
    typer.echo(f"statement      {said.subject} {said.relation} {said.object}   ({family})")
    if said.phrase.replace(" ", "_") != said.relation:
        typer.echo(f'words          "{said.phrase}" is read as {said.relation}')
    if claim.relation is None:
        typer.echo("claim          outside the relation graph: only confidence can audit it")
    else:
        swapped = "   (roles swapped)" if claim.swapped else ""
        typer.echo(f"claim          {claim.subject} {claim.relation} {claim.object}{swapped}")
        typer.echo(f"contradictions {', '.join(claim.contradictions) or '–'}")
        typer.echo("supports       " + (", ".join(f"{name} (β = {w:g})" for name, w in claim.supports.items()) or "–"))
    for name, sentence in questions.items():
        typer.echo(f"  {name:<12} {sentence}")


def _show_text(found: Extraction, *, as_json: bool) -> None:
    if as_json:
        print_json(found.to_json())
        return
    for claim in found.claims:
        said = f"{claim.subject} {claim.relation}" + (f" {claim.object}" if claim.object else "")
        reserve = "   (with reserve)" if claim.hedged else ""
        typer.echo(f"{claim.start:>5}–{claim.end:<5} {claim.answer:<4} {said}{reserve}")
    for part in found.unsure:
        typer.echo(f'{part.start:>5}–{part.end:<5} ?    "{found.text[part.start : part.end]}": {part.why}')
    if not found.claims and not found.unsure:
        typer.echo("no spatial claim")


@app.command("show")
def show(graph: opt.GraphFile = None, json: opt.Json = False) -> None:
    """Show claims with their contradictions and supports.

    \b
    Example: recap graph show
    """
    found = recap.load_graph(graph)
    if json:
        shown = {
            name: {"family": node.family}
            | dict(zip(("claim", "swapped"), found.canonical(name), strict=True))
            | {"contradictions": node.contradictions, "supports": node.supports}
            for name, node in found.relations.items()
        }
        print_json({"hash": found.hash, "relations": shown})
        return
    lines = [("relation", "family", "audited as", "contradictions", "supports")]
    for name, node in found.relations.items():
        claim, swapped = found.canonical(name)
        audited = f"{claim}(o, s)" if swapped else f"{claim}(s, o)"
        supports = ", ".join(f"{other} (β = {weight:g})" for other, weight in node.supports.items()) or "–"
        family = found.families.get(node.family, node.family)
        lines.append((name, family, audited, ", ".join(node.contradictions) or "–", supports))
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    for line in lines:
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    typer.echo(f"hash {found.hash}")


@app.command("check")
def check(
    file: Annotated[Path, opt.argument("FILE", "A graph file (TOML).")],
) -> None:
    """Check a graph file of your own; every problem is named with its line. Exit code 2 if there are any.

    \b
    Example: recap graph check mygraph.toml
    """
    from recap.claims import check_graph

    problems = check_graph(file)
    for problem in problems:
        typer.echo(f"{file}:{problem.line}: {problem.what}", err=True)
    if problems:
        raise typer.Exit(2)
    found = recap.load_graph(file)
    claims = [name for name in found.relations if not found.canonical(name)[1]]
    typer.echo(f"{file}: {len(found.relations)} relations, {len(claims)} claims, no problems; {found.hash}")


@app.command("learn")
def learn(
    table: opt.Table,
    out: Annotated[Path, opt.output("GRAPH", "Graph file to write (TOML).")],
    share: Annotated[float, typer.Option(help="Share of its comparisons that an edge must win.")] = 0.55,
    least: Annotated[int, typer.Option(help="Comparisons that an edge needs.")] = 10,
    graph: opt.GraphFile = None,
    json: opt.Json = False,
) -> None:
    """Learn contradictions from the labelled choice groups of TABLE, and write a graph file that has them.

    A choice group is several statements of one unit about the same two things, of which exactly one is true. An edge
    from the true relation to another is kept if its margin wins often enough; docs/graph.md says what is then written.
    Probe with the new file (--graph) before you evaluate with it: its claims may ask other questions.

    \b
    Example: recap graph learn whatsup.jsonl --out learned.toml
    """
    from dataclasses import asdict

    from recap.evaluation.learned_graph import learn_graph
    from recap.files import refuse_overwriting, write_text

    refuse_overwriting(out, table, graph)
    found = learn_graph(recap.read_table(table, graph), share, least)
    write_text(out, found.text)
    kept = [edge for edge in found.edges if edge.retained]
    outside = sum(not edge.manual for edge in kept)
    if json:
        edges = [asdict(edge) | {"fate": found.fates[edge.pair]} for edge in found.edges]
        rule = {"groups": found.groups, "share": share, "least": least}
        counts = {"retained": len(kept), "outside": outside, "added": found.added}
        print_json(rule | counts | {"own_claims": found.own_claims, "hash": found.graph.hash, "edges": edges})
        return
    width = max(len(f"{edge.source} → {edge.target}") for edge in found.edges) + 2
    typer.echo(f"{'edge':<{width}}{'won':>6}{'of':>6}{'share':>8}{'gap':>8}")
    for edge in found.edges:
        won = f"{edge.wins:>6}{edge.comparisons:>6}{edge.wins / edge.comparisons:>8.1%}{edge.mean_gap:>+8.2f}"
        typer.echo(f"{f'{edge.source} → {edge.target}':<{width}}{won}  {found.fates[edge.pair]}")
    typer.echo(
        f"{found.groups} groups; {len(found.edges)} edges compared, {len(kept)} retained, {outside} of them outside "
        f"the graph, {found.added} added"
    )
    if found.own_claims:
        typer.echo(f"claims of their own now: {', '.join(found.own_claims)}")
    typer.echo(f"{out}: {found.graph.hash}")
