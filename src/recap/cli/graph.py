"""`recap graph`: the relation graph, checking one's own, and learning one from choice groups."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from recap.cli.options import GraphFile, Json, Table, command_group

app = command_group("The relation graph: show it, check your own, or learn more of it.")


@app.command("show")
def show(graph: GraphFile = None, json: Json = False) -> None:
    """Show claims with their contradictions and supports.

    \b
    Example: recap graph show
    """
    from recap.claims import load_graph
    from recap.cli.console import print_json

    found = load_graph(graph)
    if json:
        print_json(
            {
                "hash": found.hash,
                "relations": {
                    name: {
                        "family": node.family,
                        "claim": found.canonical(name)[0],
                        "swapped": found.canonical(name)[1],
                        "contradictions": list(node.contradictions),
                        "supports": node.supports,
                    }
                    for name, node in found.relations.items()
                },
            }
        )
        return
    width = max(16, *(len(", ".join(node.contradictions)) for node in found.relations.values())) + 2
    typer.echo(f"{'relation':<14}{'family':<14}{'audited as':<22}{'contradictions':<{width}}supports")
    for name, node in found.relations.items():
        claim, swapped = found.canonical(name)
        audited = f"{claim}(o, s)" if swapped else f"{claim}(s, o)"
        supports = ", ".join(f"{other} (β = {weight:g})" for other, weight in node.supports.items()) or "–"
        family = found.families.get(node.family, node.family)
        typer.echo(f"{name:<14}{family:<14}{audited:<22}{', '.join(node.contradictions) or '–':<{width}}{supports}")
    typer.echo(f"hash {found.hash}")


@app.command("check")
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A graph file (TOML).", show_default=False)],
) -> None:
    """Check a graph file of your own; every problem is named with its line. Exit code 2 if there are any.

    \b
    Example: recap graph check mygraph.toml
    """
    from recap.claims import check_graph, load_graph

    problems = check_graph(file)
    for problem in problems:
        typer.echo(f"{file}:{problem.line}: {problem.what}", err=True)
    if problems:
        raise typer.Exit(2)
    found = load_graph(file)
    claims = [name for name in found.relations if not found.canonical(name)[1]]
    typer.echo(f"{file}: {len(found.relations)} relations, {len(claims)} claims, no problems; {found.hash}")


@app.command("learn")
def learn(
    table: Table,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="GRAPH", help="Graph file to write (TOML).", show_default=False)
    ],
    share: Annotated[float, typer.Option(help="Share of its comparisons that an edge must win.")] = 0.55,
    least: Annotated[int, typer.Option(help="Comparisons that an edge needs.")] = 10,
    graph: GraphFile = None,
    json: Json = False,
) -> None:
    """Learn contradictions from the labelled choice groups of TABLE, and write a graph file that has them.

    A choice group is several statements of one unit about the same two things, of which exactly one is true. An edge
    from the true relation to another is kept if its margin wins often enough; docs/graph.md says what is then written.
    Probe with the new file (--graph) before you evaluate with it: its claims may ask other questions.

    \b
    Example: recap graph learn whatsup.jsonl --out learned.toml
    """
    from dataclasses import asdict

    from recap.cli.console import print_json
    from recap.evaluation.learned_graph import learn_graph
    from recap.files import write_text
    from recap.table import read_table

    found = learn_graph(read_table(table, graph), share, least)
    write_text(out, found.text)
    kept = [edge for edge in found.edges if edge.retained]
    outside = sum(not edge.manual for edge in kept)
    if json:
        print_json(
            {
                "groups": found.groups,
                "share": share,
                "least": least,
                "retained": len(kept),
                "outside": outside,
                "added": found.added,
                "own_claims": list(found.own_claims),
                "hash": found.graph.hash,
                "edges": [asdict(edge) | {"fate": found.fates[edge.pair]} for edge in found.edges],
            }
        )
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
