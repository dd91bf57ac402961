"""`recap probe`: margins of a whole dataset, resumable."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from recap.cli.options import (
    Address,
    Attention,
    ChatTemplate,
    Concurrency,
    DatasetName,
    Device,
    Dtype,
    EngineName,
    GpusPerWorker,
    GraphFile,
    Json,
    Model,
    Patience,
    Plain,
    Server,
    StoreFile,
    Timeout,
    Workers,
)


def run(
    dataset: DatasetName,
    model: Model,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="TABLE", help="Margin table to write.", show_default=False)
    ],
    probes: Annotated[str, typer.Option(help="img, cal, full, diagnostic or all.")] = "img",
    wrapper: Annotated[
        str, typer.Option(help="Words around every question: plain, image, careful or visible.")
    ] = "plain",
    wording: Annotated[
        str,
        typer.Option(help="How statements are asked: in their relation's words, or verbatim, in their own phrase."),
    ] = "relation",
    root: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder with the official files.")] = None,
    images: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder with the pictures.", show_default="--root, or the file's own"),
    ] = None,
    store: StoreFile = None,
    limit: Annotated[int | None, typer.Option(metavar="N", help="Only the first N statements.")] = None,
    plain: Plain = False,
    compiled: Annotated[
        bool, typer.Option("--compile", help="Fuse the layers: slower to start, faster on a GPU.")
    ] = False,
    dtype: Dtype = None,
    device: Device = None,
    attention: Attention = None,
    graph: GraphFile = None,
    server: Server = None,
    concurrency: Concurrency = None,
    timeout: Timeout = None,
    patience: Patience = None,
    template: ChatTemplate = None,
    engine: EngineName = "local",
    address: Address = None,
    workers: Workers = None,
    gpus_per_worker: GpusPerWorker = None,
    json: Json = False,
) -> None:
    """Ask a model every probe of a dataset and write the margin table.

    All questions about a picture share one forward. With --store, a run that was stopped continues where it was and
    yields the same table, byte for byte. A row that cannot be read or a picture that cannot be shown is named and left
    out; the exit code is then 2.
    With --engine ray many workers share the job, on this machine or a cluster; table and store are the same.

    \b
    Example: recap probe whatsup --root data/whatsup --model Qwen/Qwen3-VL-8B-Instruct --store margins.db --out wu.jsonl
             recap probe mine.jsonl --model http://localhost:8000/v1#qwen --store margins.db --out mine-margins.jsonl
    """
    options = {name: value for name, value in locals().items() if name != "json"}  # all of them are the function's own
    from recap.cli.console import name_some, print_json
    from recap.cli.loading import load_model
    from recap.datasets.probing import probe
    from recap.errors import RecapError

    found = probe(**options, load=load_model)
    name_some(found.unread, "rows that cannot be read")
    name_some(list(found.failed_images.values()), "pictures that cannot be shown")
    if not found.rows:
        raise RecapError(f"{dataset}: none of its statements could be probed")
    if json:
        print_json(found.to_json())
    else:
        ran = found.ran
        typer.echo(
            f"{len(found.rows)} statements → {out}: {ran.computed + ran.found} probes ({ran.found} from the store), "
            f"{ran.forwards} forwards, {ran.rate:.1f} probes/s, scored by {found.scoring}"
        )
    if found.unread or found.failed_images:
        raise typer.Exit(2)
