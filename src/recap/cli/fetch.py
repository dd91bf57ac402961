"""`recap data fetch`: a benchmark from its official places."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Annotated

import typer

SHOWN_FAILURES = 20


def run(
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="vsr, whatsup or gsr.", show_default=False)],
    root: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder to fill.", show_default="data/DATASET")
    ] = None,
    no_images: Annotated[bool, typer.Option("--no-images", help="Only the annotations.")] = False,
    limit: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Only the first N pictures.", show_default=False)
    ] = None,
    mirror: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            envvar="RECAP_MIRROR",
            help="Take every file from URL/DATASET/… instead.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Fetch a benchmark from its official places, checked, into the layout that the other commands read.

    A fetch that was stopped continues where it was, and what is there already is checked and left alone. A picture that
    cannot be had is named; the exit code is then 2. For gsr, images that vsr or whatsup show too are left out: their
    annotations are looked for in the folders beside DIR, and fetched if need be.

    \b
    Example: recap data fetch vsr --root data/vsr
    """
    from recap.cli.console import notice
    from recap.datasets.fetch import Told, fetch_dataset
    from recap.errors import RecapError

    folder = root or Path("data") / dataset
    with _bars() as progress:
        told = Told(notice, progress)
        got = fetch_dataset(dataset, folder, images=not no_images, limit=limit, mirror=mirror, told=told)
    if got.shared:
        notice(f"{len(got.shared)} images that another benchmark shows too are left out (shared_images.txt)")
    for line in got.failed[:SHOWN_FAILURES]:
        notice(line)
    if len(got.failed) > SHOWN_FAILURES:
        notice(f"… and {len(got.failed) - SHOWN_FAILURES:,} more")
    typer.echo(f"{folder}: {len(got.items):,} statements, {got.pictures:,} pictures")
    if got.failed:
        raise RecapError(f"{len(got.failed):,} pictures could not be fetched; the same command tries those again")


@contextlib.contextmanager
def _bars() -> Generator[Callable[[str, int, int], None]]:
    """One progress bar at a time, a new one for each new label."""
    from recap.progress import progress

    with contextlib.ExitStack() as stack:
        shown: dict[str, Callable[[int], None]] = {}

        def tell(label: str, done: int, of: int) -> None:
            if label not in shown:
                stack.close()
                shown.clear()
                shown[label] = stack.enter_context(progress(label, of))
            shown[label](done)

        yield tell
