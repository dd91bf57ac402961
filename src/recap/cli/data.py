"""`recap data`: the benchmarks, their counts, and how to get them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import recap
from recap.cli import options as opt
from recap.cli.console import name_some, notice, print_json
from recap.progress import running_steps

app = opt.command_group("The benchmarks: what they are, their counts, and how to get them.")


@app.command("list")
def list_datasets(json: opt.Json = False) -> None:
    """List the benchmarks that can be read, with their files and licences. `recap data fetch` gets them.

    \b
    Example: recap data list
    """
    from recap.datasets import DATASETS
    from recap.datasets.official import BENCHMARKS as OTHERS
    from recap.plugins import installed, told_by
    from recap.world.benchmarks import BENCHMARKS

    brought = [(name, told_by("datasets", name)) for name in installed("datasets")]
    if json:
        fields = ("name", "about", "statements", "files", "licence", "home")
        listed = [{field: getattr(dataset, field) for field in fields} for dataset in DATASETS.values()]
        others = [*((f"world:{name}", about) for name, (about, _) in BENCHMARKS.items()), *brought]
        print_json([*listed, *({"name": name, "about": about} for name, about in others)])
        return
    boxed = [(f"world:{name}", f"{about} (in the box)") for name, (about, _) in BENCHMARKS.items()]
    width = max(len(name) for name in (*DATASETS, *(name for name, _ in (*boxed, *brought)))) + 2
    for dataset in DATASETS.values():
        typer.echo(f"{dataset.name:<{width}}{dataset.about}")
        what = "rows" if dataset in OTHERS else "statements"
        typer.echo(f"{'':<{width}}{dataset.statements:,} {what}, from {', '.join(dataset.files)}")
        typer.echo(f"{'':<{width}}{dataset.home} ({dataset.licence})")
    example = '{"image": "a.jpg", "question": "Is the mug on the table?", "label": "yes"}'
    for name, about in (*boxed, *brought, ("FILE", f"a .jsonl of your own: {example}")):
        typer.echo(f"{name:<{width}}{about}")


@app.command("stats")
def stats(
    dataset: opt.DatasetName,
    root: opt.Root = None,
    graph: opt.GraphFile = None,
    json: opt.Json = False,
) -> None:
    """Count a benchmark's statements by family and relation, and what probing them costs.

    Images, relations, probes and calls are those of the statements that the relation graph covers. Calls per
    statement are given as the paper prints them, and as our plans ask them: with the supports that the formula needs.

    \b
    Example: recap data stats vsr --root data/vsr
    """
    from recap.datasets import dataset_stats, load_dataset

    relations = recap.load_graph(graph)
    loaded = load_dataset(dataset, root, relations)
    found = dataset_stats(loaded, relations)
    name_some(loaded.unread, "rows without a spatial relation", most=5)
    for note in loaded.notes:
        notice(note)
    if json:
        print_json(found)
    else:
        _show(found)


@app.command("fetch")
def fetch(
    dataset: Annotated[str, opt.argument("DATASET", "vsr, whatsup or gsr.")],
    root: Annotated[Path | None, opt.option("DIR", "Folder to fill.", "data/DATASET")] = None,
    no_images: Annotated[bool, typer.Option("--no-images", help="Only the annotations.")] = False,
    limit: Annotated[int | None, opt.option("N", "Only the first N pictures.", min=1)] = None,
    mirror: Annotated[
        str | None, opt.option("URL", "Take every file from URL/DATASET/… instead.", envvar="RECAP_MIRROR")
    ] = None,
) -> None:
    """Fetch a benchmark from its official places, checked, into the layout that the other commands read.

    A fetch that was stopped continues where it was, and what is there already is checked and left alone. A picture that
    cannot be had is named; the exit code is then 2. For gsr, images that vsr or whatsup show too are left out: their
    annotations are looked for in the folders beside DIR, and fetched if need be.

    \b
    Example: recap data fetch vsr --root data/vsr
    """
    from recap.datasets.fetch import fetch_dataset

    options = opt.pick(locals(), "root limit mirror")
    with running_steps() as progress:
        got = fetch_dataset(dataset, **options, images=not no_images, say=notice, progress=progress)
    if got.shared:
        notice(f"{len(got.shared)} images that another benchmark shows too are left out (shared_images.txt)")
    name_some(got.failed, "pictures")
    typer.echo(f"{got.root}: {len(got.items):,} statements, {got.pictures:,} pictures")
    if got.failed:
        raise recap.RecapError(f"{len(got.failed):,} pictures could not be fetched; the same command tries those again")


@app.command("unpack")
def unpack(
    dataset: Annotated[str, opt.argument("DATASET", "A benchmark whose pictures lie inside its official files.")],
    root: Annotated[Path, opt.option("DIR", "Folder with the official files.")],
) -> None:
    """Write the pictures inside a benchmark's official files beside them, where `recap probe` looks for them.

    For embspatial, cv-bench, blink, r-bench, mmrel, 3dsrbench and robospatial-home, which come as Parquet, TSV or JSON
    with the pictures inside. A picture that is there already is left alone.

    \b
    Example: recap data unpack blink --root data/blink
    """
    from recap.datasets.pictures import unpack_pictures
    from recap.progress import running

    with running("pictures") as progress:
        written, there = unpack_pictures(dataset, root, progress)
    typer.echo(f"{root}: {written:,} pictures written, {there:,} were there")


def _show(found: dict[str, Any]) -> None:
    images = "an unknown number of" if found["images"] is None else f"{found['images']:,}"
    typer.echo(f"{found['statements']:,} statements, {found['covered']:,} of them covered by the graph")
    share = f"{found['covered_rows']:,} of them ({found['covered_share']:.1%})"
    typer.echo(f"{found['rows']:,} rows were read; the graph covers {share}")
    typer.echo(f"covered: {images} images, {found['units']:,} units, {found['true']:,} true")
    for title in ("families", "relations"):
        typer.echo(f"{title:<10} " + ", ".join(f"{name} {count:,}" for name, count in found[title].items()))
    distinct = ", ".join(f"{name} {count:,}" for name, count in found["probes"]["distinct_per_image"].items())
    typer.echo(
        f"probes     {found['probes']['diagnostic']:,} in the complete diagnostic set; distinct per image: {distinct}"
    )
    for title, key in (("calls", "calls_per_statement"), ("planned", "planned_calls_per_statement")):
        told = ", ".join(f"{name} {calls:.2f}" for name, calls in found[key].items())
        typer.echo(f"{title:<10} {told} per statement" + ("  (as the paper counts)" if title == "calls" else ""))
