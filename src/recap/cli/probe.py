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

SHOWN_FAILURES = 20


def run(
    dataset: Annotated[
        str,
        typer.Argument(
            metavar="DATASET", help="vsr, whatsup, gsr, world:whatsup, …, or a .jsonl file.", show_default=False
        ),
    ],
    model: Model,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="TABLE", help="Margin table to write.", show_default=False)
    ],
    probes: Annotated[str, typer.Option(help="img, cal, full, diagnostic or all.")] = "img",
    wrapper: Annotated[
        str, typer.Option(help="Words around every question: plain, image, careful or visible.")
    ] = "plain",
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
    yields the same table, byte for byte. A picture that cannot be shown is named and left out; the exit code is then 2.
    With --engine ray many workers share the job, on this machine or a cluster; table and store are the same.

    \b
    Example: recap probe whatsup --root data/whatsup --model Qwen/Qwen3-VL-8B-Instruct --store margins.db --out wu.jsonl
             recap probe mine.jsonl --model http://localhost:8000/v1#qwen --store margins.db --out mine-margins.jsonl
    """
    from functools import partial

    from recap.claims import load_graph
    from recap.cli.console import notice, print_json
    from recap.cli.loading import load_model
    from recap.datasets import load_dataset
    from recap.datasets.probing import check_pictures, probe_items
    from recap.errors import RecapError, did_you_mean
    from recap.models.remote import is_remote
    from recap.probes import PROBE_SETS, ways
    from recap.probing import open_engine
    from recap.progress import running
    from recap.store import Store
    from recap.table import write_table

    if probes not in PROBE_SETS:
        raise RecapError(f'"{probes}" is not a probe set{did_you_mean(probes, PROBE_SETS)} ({", ".join(PROBE_SETS)})')
    if wrapper not in ways("wrappers"):
        known = ways("wrappers")
        raise RecapError(f'"{wrapper}" is not a wrapper{did_you_mean(wrapper, known)} ({", ".join(known)})')
    load = partial(
        load_model,
        model,
        dtype=dtype,
        device=device,
        attention=attention,
        plain=plain,
        compiled=compiled,
        server=server,
        concurrency=concurrency,
        timeout=timeout,
        patience=patience,
        template=template,
    )
    opened = open_engine(
        engine,
        load,
        address=address,
        workers=workers,
        gpus=gpus_per_worker,
        served=is_remote(model),
        say=lambda text: typer.echo(text, err=True, nl=False),
    )
    relations = load_graph(graph)
    items = load_dataset(dataset, root, relations).items[:limit]
    check_pictures(items)
    folder = images or root or Path(dataset).parent
    kept = Store(store or ":memory:")  # before the model: a wrong file should not cost its loading
    with kept, opened as speaker, running("probes") as done:
        found = probe_items(
            items,
            speaker,
            kept,
            probes=probes,
            wrapper=wrapper,
            graph=relations,
            folder=folder,
            source=dataset,
            progress=done,
        )
    ran, rows = found.ran, found.rows
    for why in list(ran.failed.values())[:SHOWN_FAILURES]:
        notice(why)
    if len(ran.failed) > SHOWN_FAILURES:
        notice(f"… and {len(ran.failed) - SHOWN_FAILURES} more pictures that cannot be shown")
    if not rows:
        raise RecapError(f"{dataset}: none of its {len(items)} statements could be probed")
    write_table(rows, out)
    summary = {
        "statements": len(rows),
        "probes": ran.computed + ran.found,
        "forwards": ran.forwards,
        "cache_hits": ran.found,
        "probes_per_second": round(ran.rate, 2),
        "failed_images": len(ran.failed),
        "scoring": speaker.way,
    }
    if json:
        print_json(summary)
    else:
        typer.echo(
            f"{len(rows)} statements → {out}: {summary['probes']} probes ({ran.found} from the store), "
            f"{ran.forwards} forwards, {ran.rate:.1f} probes/s, scored by {speaker.way}"
        )
    if ran.failed:
        raise typer.Exit(2)
