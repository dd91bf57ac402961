"""Sample logs of other evaluation tools as margin tables: what they hold is kept, what they lack is said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recap.claims import Graph, load_graph
from recap.datasets.completing import missing_probes
from recap.datasets.logs.inspect_ai import inspect_samples
from recap.datasets.logs.lm_eval import lm_eval_samples
from recap.datasets.logs.lmms_eval import lmms_eval_samples
from recap.datasets.logs.sample import LogFields, LogSample, UnreadSampleError
from recap.errors import RecapError, one_of, quoted
from recap.files import refuse_overwriting
from recap.table import MarginTable, Row, write_table
from recap.table.io import check_ending

Reader = Callable[[Path, LogFields], Iterator[LogSample | UnreadSampleError]]

HARNESSES: dict[str, Reader] = {
    "lm-eval": lm_eval_samples,
    "lmms-eval": lmms_eval_samples,
    "inspect": inspect_samples,
}


@dataclass(frozen=True)
class Imported:
    """What a log gave: rows, the samples that were left out and why, and what the rows lack."""

    rows: list[Row]
    graph: Graph
    source: str
    unread: tuple[str, ...]
    """samples that were left out, one line each: where, and why"""
    notes: tuple[str, ...]
    """what else somebody should know about the rows"""
    missing: dict[str, int]
    """probe → in how many rows it is missing, of those that the default audit (`img`) needs"""

    def __repr__(self) -> str:
        return f"Imported({len(self.rows)} rows from {self.source}, {len(self.unread)} samples left out)"

    @property
    def table(self) -> MarginTable:
        return MarginTable(tuple(self.rows), self.graph, source=self.source)

    def to_json(self) -> dict[str, Any]:
        """What `recap import --json` prints."""
        held = {
            "label": sum(row.label is not None for row in self.rows),
            "image": sum(row.image is not None for row in self.rows),
            "direct.image": sum(row.direct.image is not None for row in self.rows),
        }
        names = ("missing", "unread", "notes")
        return {"rows": len(self.rows), "held": held} | {name: getattr(self, name) for name in names}


def import_log(
    harness: str,
    path: str | Path,
    out: str | Path | None = None,
    *,
    question: str | None = None,
    image: str | None = None,
    label: str | None = None,
    unit: str | None = None,
    choices: str | None = None,
    pictures: str | Path | None = None,
    graph: str | Path | Graph | None = None,
) -> Imported:
    """A margin table from the sample log of lm-eval, lmms-eval or inspect, written to `out` where that is given.

    Log-likelihoods of yes and no become the direct margin; where there are none, the answer in words is kept.
    `question`, `image`, `label` and `unit` name fields of the logged document (inspect: of the sample's metadata) where
    the usual ones do not hold these. `choices` says which log-likelihood is which (`yes,no`) for logs that do not.
    Pictures that the log itself holds are written into the folder `pictures`.
    """
    one_of(harness, HARNESSES, "a log that can be imported")
    source = Path(path)
    if out is not None:
        check_ending(out)
        refuse_overwriting(out, path)
    relations = graph if isinstance(graph, Graph) else load_graph(graph)
    fields = LogFields(question, image, label, unit, _choices(choices), None if pictures is None else Path(pictures))
    rows: list[Row] = []
    unread: list[str] = []
    notes: Counter[str] = Counter()
    seen: set[str] = set()
    for sample in HARNESSES[harness](source, fields):
        try:
            if isinstance(sample, UnreadSampleError):
                raise sample
            row, told = sample.row(relations, fields)
            if row.id in seen:
                raise RecapError(f"id {quoted(row.id)} was there before")
        except RecapError as error:
            unread.append(f"{source}:{sample.place}: {error}")
            continue
        seen.add(row.id)
        rows.append(row)
        notes.update(told)
    if not rows:
        if not unread:
            raise RecapError(f"{source}: this {harness} log holds no samples")
        first = f" (the first: {unread[0]})"
        raise RecapError(f"{source}: no sample of this {harness} log can be a row of a margin table{first}")
    if out is not None:
        write_table(rows, out)
    said = tuple(f"{count} of {len(rows)} rows: {note}" for note, count in notes.items())
    missing = missing_probes(rows, relations)
    return Imported(rows, relations, str(source), tuple(unread), said, missing)


def _choices(text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    words = tuple(word.strip().lower() for word in text.split(","))
    if sorted(words) != ["no", "yes"]:
        raise RecapError(f"choices is {quoted(text)}; it says which log-likelihood is which: yes,no or no,yes")
    return words


__all__ = ["HARNESSES", "Imported", "import_log"]
