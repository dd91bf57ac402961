"""Progress on stderr, for the command line and for Python alike; silent where nobody watches."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Generator
from functools import partial

_shown: list[str] = []


@contextlib.contextmanager
def progress(label: str, total: int) -> Generator[Callable[[int], None]]:
    """A progress bar on stderr while the block runs. Call it with how much is done.

    Silent where nobody watches, and inside another bar: a terminal shows one at a time.
    """
    if _shown or not sys.stderr.isatty():
        yield lambda _done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, Task, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Rate(TextColumn):
        def __init__(self) -> None:
            super().__init__("")

        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:.1f}/s" if task.speed else "")

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(label, total=total)
        _shown.append(label)
        try:
            yield lambda done: bars.update(task, completed=done)
        finally:
            _shown.pop()


@contextlib.contextmanager
def running_steps() -> Generator[Callable[[str, int, int], None]]:
    """The same for work whose size is known only once it has begun, with a new bar for each new label.

    Call it with the label, how much is done, and of how much.
    """
    with contextlib.ExitStack() as stack:
        bars: dict[str, Callable[[int], None]] = {}

        def tell(label: str, done: int, of: int) -> None:
            if label not in bars:
                stack.close()
                bars.clear()
                bars[label] = stack.enter_context(progress(label, of))
            bars[label](done)

        yield tell


@contextlib.contextmanager
def running(label: str) -> Generator[Callable[[int, int], None]]:
    """The same with one label. Call it with how much is done, and of how much."""
    with running_steps() as tell:
        yield partial(tell, label)
