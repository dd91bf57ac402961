"""The probing job: which questions go with which picture, in which batches. Decided from the job alone.

A margin's last bits can depend on what shares its batch. So batches never depend on what is stored already, and a run
that was killed and started again asks the very same batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from recap.claims import Graph, Statement, default_graph
from recap.probes import Plan, Probe, View, merge_by_image, plan_probes

RAMP_FROM = 16384
"""a budget of so many tokens takes a GPU's host half a second to prepare"""
RAMP, GROWTH = 8, 1.5
"""the first batch is so much smaller than a whole one, and each is so much larger than the one before: while a GPU
works on the first ones, several threads prepare the next"""
TEXT_QUESTIONS = 16
"""questions without a picture that share a tree"""


@dataclass(frozen=True)
class Item:
    """A statement about an image and, if that is known, whether it is true; in its dataset's canonical order."""

    id: str
    dataset: str
    """empty where the statement comes from none"""
    unit: str
    """what is resampled and split whole: a choice group where there is one, else the image"""
    image: str | None
    statement: Statement
    label: str | None
    """yes, no, or None where the truth is unknown"""
    question: str | None = None
    """the direct question in the asker's own words; None asks the relation's template"""
    answer: str | None = None
    """a frozen answer to audit, if the data brings one"""


@dataclass(frozen=True)
class Entry:
    """All questions about one view of one picture; no picture for questions asked without one."""

    image: str | None
    view: View
    questions: tuple[str, ...]

    @property
    def probes(self) -> tuple[Probe, ...]:
        return tuple(Probe(question, self.view) for question in self.questions)


@dataclass(frozen=True)
class ProbingJob:
    """Statements, their plans and pictures, and the batches that answer them all."""

    items: tuple[Item, ...]
    plans: tuple[Plan, ...]
    images: tuple[str, ...]
    """where each item's picture is opened: tables name pictures as the dataset does, wherever they lie"""
    batches: tuple[tuple[Entry, ...], ...]
    tokens: int = 0
    """about how many all of it takes"""

    @property
    def probes(self) -> int:
        return sum(len(entry.questions) for batch in self.batches for entry in batch)


Size = Callable[[str | None, int], int]
"""about how many tokens so many questions on this picture take"""


def plan_job(
    items: Sequence[Item],
    probes: str,
    size: Size,
    budget: int,
    graph: Graph | None = None,
    wrapper: str = "plain",
    locate: Callable[[str], str] = lambda image: image,
    padded: bool = True,
    plans: Sequence[Plan] | None = None,
) -> ProbingJob:
    """Merge the plans of all statements per picture, and cut them into batches of at most `budget` tokens.

    Where a batch is `padded` to its longest entry, entries of like sizes go together. `locate` turns an item's
    picture into a path, or any name that the job's opener understands. `plans` are others than the probe set's own.
    """
    relations = graph or default_graph()
    if plans is None:
        plans = [
            plan_probes(relations.claim(item.statement), probes, graph=graph, asked=item.question, wrapper=wrapper)
            for item in items
        ]
    images = tuple(locate(item.image or "") for item in items)
    merged = merge_by_image(plans, images)
    entries = [
        Entry(image, view, questions)
        for image, asked in merged.items()
        for view in (View.IMAGE, View.DEGRADED, View.FLIPPED)
        if (questions := tuple(probe.question for probe in asked if probe.view is view))
    ]
    # A question without its picture is the same whatever the picture was: each is asked once in the whole job.
    texts = list(dict.fromkeys(p.question for asked in merged.values() for p in asked if p.view is View.TEXT))
    for start in range(0, len(texts), TEXT_QUESTIONS):
        entries.append(Entry(None, View.TEXT, tuple(texts[start : start + TEXT_QUESTIONS])))
    sized = [(entry, size(entry.image, len(entry.questions))) for entry in entries]
    if padded:  # a picture's views stay together: it is opened once for all of them
        largest: dict[str | None, int] = {}
        for entry, each in sized:
            largest[entry.image] = max(each, largest.get(entry.image, 0))
        sized.sort(key=lambda each: (each[0].image is None, largest[each[0].image]))
    tokens = sum(each for _, each in sized)
    return ProbingJob(tuple(items), tuple(plans), images, tuple(_batches(sized, budget, padded)), tokens)


def _batches(sized: Sequence[tuple[Entry, int]], whole: int, padded: bool) -> Iterator[tuple[Entry, ...]]:
    batch: list[Entry] = []
    # Nothing runs beside the preparation of the first batch: where batches are large, the first ones are not.
    budget = whole if padded or whole < RAMP_FROM else whole // RAMP
    longest = together = 0
    for entry, tokens in sized:
        longest, together = max(longest, tokens), together + tokens
        mixed = bool(batch) and (batch[0].image is None) != (entry.image is None)
        if batch and (mixed or (longest * (len(batch) + 1) if padded else together) > budget):
            yield tuple(batch)
            batch, longest, together = [], tokens, tokens
            budget = min(whole, int(GROWTH * budget))
        batch.append(entry)
    if batch:
        yield tuple(batch)
