"""`recap parse`: the claim that a question or statement makes."""

from __future__ import annotations

from typing import Annotated

import typer

from recap.cli.options import GraphFile, Json


def run(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="A question or statement.", show_default=False)],
    graph: GraphFile = None,
    json: Json = False,
) -> None:
    """Show the claim that a question or statement makes, its canonical form, and its probes.

    \b
    Example: recap parse "Is the mug to the right of the laptop?"
    """
    from recap.claims import load_graph
    from recap.cli.console import print_json
    from recap.probes import plan_probes

    relations = load_graph(graph)
    claim = relations.parse(text)
    said = claim.statement
    asked = " ".join(text.split()) if said.is_question else None
    questions = plan_probes(claim, "img", graph=relations, asked=asked).questions()
    family = relations.family_of(said.relation)
    if json:
        print_json(
            {
                "subject": said.subject,
                "relation": said.relation,
                "phrase": said.phrase,
                "object": said.object,
                "family": family,
                "claim": claim.relation,
                "swapped": claim.swapped,
                "contradictions": list(claim.contradictions),
                "supports": claim.supports,
                "questions": questions,
            }
        )
        return
    typer.echo(f"statement      {said.subject} {said.relation} {said.object}   ({family})")
    if said.phrase.replace(" ", "_") != said.relation:
        typer.echo(f'words          "{said.phrase}" is read as {said.relation}')
    if claim.relation is None:
        typer.echo("claim          outside the relation graph: only confidence can audit it")
    else:
        typer.echo(
            f"claim          {claim.subject} {claim.relation} {claim.object}"
            + ("   (roles swapped)" if claim.swapped else "")
        )
        typer.echo(f"contradictions {', '.join(claim.contradictions) or '–'}")
        typer.echo("supports       " + (", ".join(f"{name} (β = {w:g})" for name, w in claim.supports.items()) or "–"))
    for name, sentence in questions.items():
        typer.echo(f"  {name:<12} {sentence}")
