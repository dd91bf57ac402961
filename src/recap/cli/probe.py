"""`recap probe`: margins of a whole dataset, resumable."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import recap
from recap.cli import options as opt
from recap.cli.console import load_model, name_some, notice, print_json


def run(
    dataset: opt.DatasetName,
    model: opt.Model,
    out: Annotated[Path, opt.output("TABLE", "Margin table to write.")],
    probes: Annotated[str, typer.Option(help="img, cal, full, diagnostic or all.")] = "img",
    wrapper: Annotated[
        str, typer.Option(help="Words around every question: plain, image, careful or visible.")
    ] = "plain",
    wording: Annotated[
        str,
        typer.Option(help="How statements are asked: in their relation's words, or verbatim, in their own phrase."),
    ] = "relation",
    root: opt.Root = None,
    images: Annotated[Path | None, opt.option("DIR", "Folder with the pictures.", "--root, or the file's own")] = None,
    store: opt.StoreFile = None,
    limit: Annotated[int | None, opt.option("N", "Only the first N statements.")] = None,
    complete: Annotated[
        bool, typer.Option("--complete", help="DATASET is a margin table: ask only what its rows lack.")
    ] = False,
    any_model: Annotated[
        bool, typer.Option("--any-model", help="--complete: also where the margins are of another model.")
    ] = False,
    plain: opt.Plain = False,
    compiled: opt.Compiled = None,
    dtype: opt.Dtype = None,
    answers: opt.AnswerMode = None,
    samples: opt.Samples = None,
    max_pixels: opt.MaxPixels = None,
    pad: opt.Pad = False,
    device: opt.Device = None,
    attention: opt.Attention = None,
    graph: opt.GraphFile = None,
    server: opt.Server = None,
    concurrency: opt.Concurrency = None,
    timeout: opt.Timeout = None,
    patience: opt.Patience = None,
    template: opt.ChatTemplate = None,
    engine: Annotated[str, typer.Option(help="local, or ray for many workers.")] = "local",
    address: Annotated[
        str | None, opt.option("ADDR", "Ray cluster: auto or HOST:6379.", "one of its own, on this machine")
    ] = None,
    workers: Annotated[int | None, opt.option("N", "Ray workers, a model on each.", "one per GPU, or 1", min=1)] = None,
    gpus_per_worker: Annotated[
        float | None, opt.option("G", "GPUs of a Ray worker; 0.5 puts two on one.", "1 if there are", min=0)
    ] = None,
    json: opt.Json = False,
) -> None:
    """Ask a model every probe of a dataset and write the margin table.

    All questions about a picture share one forward. With --store, a run that was stopped continues where it was and
    yields the same table, byte for byte. A row that cannot be read or a picture that cannot be shown is named and left
    out; the exit code is then 2. Rows of a benchmark that ask about other things than relations are only counted.
    With --complete the rows of a margin table get the probes that they lack; what they have stays, and rows whose
    pictures cannot be shown are left out.
    With --engine ray many workers share the job, on this machine or a cluster; table and store are the same.

    \b
    Example: recap probe whatsup --root data/whatsup --model Qwen/Qwen3-VL-8B-Instruct --store margins.db --out wu.jsonl
             recap probe mine.jsonl --model http://localhost:8000/v1#qwen --store margins.db --out mine-margins.jsonl
             recap probe --complete imported.jsonl --model MODEL --images pictures --out table.jsonl
    """
    options = {name: value for name, value in locals().items() if name != "json"}  # all of them are the function's own
    found = recap.probe(**options, load=load_model)
    for note in found.notes:
        notice(note)
    if found.benchmark:
        if found.unread:
            notice(f"{len(found.unread):,} rows ask about other things than a relation: recap data stats {dataset}")
    else:
        name_some(found.unread, "rows that cannot be read")
    name_some(list(found.failed_images.values()), "pictures that cannot be shown")
    if found.cropped:
        notice(found.cropped)
    if not found.rows:
        raise recap.RecapError(f"{dataset}: none of its statements could be probed")
    if json:
        print_json(found.to_json())
    else:
        ran = found.ran
        typer.echo(
            f"{len(found.rows)} statements → {out}: {ran.computed + ran.found} probes ({ran.found} from the store), "
            f"{ran.forwards} forwards, {ran.rate:.1f} probes/s, scored by {found.scoring}"
        )
    if (found.unread and not found.benchmark) or found.failed_images:
        raise typer.Exit(2)
