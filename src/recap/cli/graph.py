"""`recap graph`: the relation graph, and checking one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from recap.cli.options import GraphFile, Json

app = typer.Typer(
    help="The relation graph: show it, or check your own.", rich_markup_mode=None, invoke_without_command=True
)


@app.callback()
def top(context: typer.Context) -> None:
    """The relation graph: show it, or check your own."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


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
    typer.echo(f"{'relation':<14}{'family':<14}{'audited as':<22}{'contradictions':<18}supports")
    for name, node in found.relations.items():
        claim, swapped = found.canonical(name)
        audited = f"{claim}(o, s)" if swapped else f"{claim}(s, o)"
        supports = ", ".join(f"{other} (β = {weight:g})" for other, weight in node.supports.items()) or "–"
        family = found.families.get(node.family, node.family)
        typer.echo(f"{name:<14}{family:<14}{audited:<22}{', '.join(node.contradictions) or '–':<18}{supports}")
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
