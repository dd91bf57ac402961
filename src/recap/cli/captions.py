"""`recap captions`: how well false claims in captions are told from true ones, on drawn scenes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from recap.cli import options as opt
from recap.cli.console import load_auditor, notice, print_json
from recap.schemes import DEFAULT_MODEL

if TYPE_CHECKING:
    from recap.world.caption_study import CaptionStudy


def run(
    model: opt.ModelOrDefault = None,
    count: Annotated[int, typer.Option(help="Captions to write.", min=40)] = 1000,
    policy: opt.PolicyFile = None,
    any_model: opt.AnyModel = False,
    json: opt.Json = False,
) -> None:
    """Audit captions of drawn scenes whose truth is known; every second caption has one false relation.

    Claims are read out of the captions as with --text, and audited. Shown are the claim-level AUROC of RECAP's risk
    and of confidence, the share of false claims caught where 80 % of true ones are kept, claims about things that are
    not in the picture, and what a policy calibrated on claims keeps. Intervals resample pictures.

    \b
    Example: recap captions --count 200
    """
    from recap.world.caption_study import caption_study

    # Every caption counts: a picture or a thing that a bundled model was not made for is not passed over here.
    auditor = load_auditor(model or DEFAULT_MODEL, policy, any_model=any_model, any_picture=True)
    study = caption_study(auditor, count, notice)
    if json:
        print_json(study.to_json())
    else:
        _show(study)


def _show(study: CaptionStudy) -> None:
    typer.echo(
        f"{study.model}: {study.captions:,} captions of {study.pictures:,} pictures, {study.claims:,} claims read "
        f"({study.read:.1%} of those written), {study.false:,} of them false"
    )
    typer.echo(f"{'':<16}{'AUROC':<26}false claims caught at 80 % of true ones kept")
    for name, area in study.auroc.items():
        caught = study.caught[name]
        figures = [f"{each.point:.1%} [{each.low:.1%}, {each.high:.1%}]" for each in (area, caught)]
        typer.echo(f"{name:<16}{figures[0]:<26}{figures[1]}")
    typer.echo("caption policy, calibrated on the claims of half the pictures, on the other half:")
    for each in study.policy:
        typer.echo(
            f"  asked to keep {each['asked']:.0%}: keeps {each['kept']:.1%}, of which {each['precision']:.1%} are true"
        )
    absent = study.absent
    typer.echo(
        f"things that are not there: {absent['claims']:,} claims about one, of which the model affirms "
        f"{absent['affirmed']:,}; accepted are"
    )
    kinds = {"absent": "of all", "affirmed": "of those affirmed", "true": "of true claims", "false": "of false ones"}
    for kind, called in kinds.items():
        shares = (absent[how][kind] for how in ("without", "with"))
        figures = [f"{each['point']:.1%} [{each['low']:.1%}, {each['high']:.1%}]" for each in shares]
        typer.echo(f"  {called:<18} {figures[0]}, with presuppositions {figures[1]}")
    for family, of in absent["with"]["families"].items():
        typer.echo(
            f"  {family:<18} about something absent {of['absent']['point']:.1%}, true {of['true']['point']:.1%} "
            f"(without: {absent['without']['families'][family]['true']['point']:.1%})"
        )
    typer.echo(f"  the rule: {absent['rule'] or 'none, the policy is not calibrated for it'}")
    areas = ", ".join(f"{name} {value:.1%}" for name, value in absent["auroc"].items())
    typer.echo(f"  AUROC against true claims: {areas}; of the existence question {absent['existence_auroc']:.1%}")
    nonsense = study.nonsense
    typer.echo(
        f"contradictions that cannot be: neutral in {nonsense['neutral']} of {nonsense['inside']} claims that something"
        f" is inside; AUROC over all claims {nonsense['with']:.2%} with them, {nonsense['without']:.2%} without"
    )
