"""The probing job: which questions go with which picture, in which batches. Decided from the job alone.

A margin's last bits can depend on what shares its batch. So batches never depend on what is stored already, and a run
that was killed and started again asks in the very same company.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from recap.claims import Claim, Graph
from recap.probes import Plan, Probe, View, merge_by_image, plan_probes

TEXT_QUESTIONS = 16
"""questions without a picture that share a tree"""


@dataclass(frozen=True)
class Asked:
    """One statement to be probed: where it comes from, what it claims, and about which picture."""

    id: str
    claim: Claim
    image: str
    """a path, or any name that the job's opener understands"""
    unit: str
    dataset: str | None = None
    label: str | None = None
    answer: str | None = None
    question: str | None = None
    """the direct question in the asker's own words"""
    named: str | None = None
    """what the table calls the picture, where it is opened by another name: tables do not say where pictures lie"""


@dataclass(frozen=True)
class Entry:
    """All questions about one view of one picture; no picture for questions asked without one."""

    image: str | None
    view: View
    questions: tuple[str, ...]

    @property
    def probes(self) -> tuple[Probe, ...]:
        """The probes that these questions are."""
        return tuple(Probe(question, self.view) for question in self.questions)


@dataclass(frozen=True)
class Job:
    """Statements, their plans, and the batches that answer them all."""

    asked: tuple[Asked, ...]
    plans: tuple[Plan, ...]
    batches: tuple[tuple[Entry, ...], ...]

    @property
    def probes(self) -> int:
        """How many margins there are to find."""
        return sum(len(entry.questions) for batch in self.batches for entry in batch)


Size = Callable[[str | None, int], int]
"""about how many tokens so many questions on this picture take"""


def plan_job(
    asked: Sequence[Asked], probes: str, size: Size, budget: int, graph: Graph | None = None, wrapper: str = "plain"
) -> Job:
    """Merge the plans of all statements per picture, and cut them into batches of at most `budget` tokens."""
    plans = tuple(plan_probes(each.claim, probes, graph=graph, asked=each.question, wrapper=wrapper) for each in asked)
    merged = merge_by_image(plans, [each.image for each in asked])
    entries = [*_with_pictures(merged), *_without(merged)]
    return Job(tuple(asked), plans, tuple(_batches(entries, size, budget)))


def _with_pictures(merged: dict[str, tuple[Probe, ...]]) -> Iterator[Entry]:
    for image, probes in merged.items():
        for view in (View.IMAGE, View.DEGRADED, View.FLIPPED):
            questions = tuple(probe.question for probe in probes if probe.view is view)
            if questions:
                yield Entry(image, view, questions)


def _without(merged: dict[str, tuple[Probe, ...]]) -> Iterator[Entry]:
    """A question without its picture is the same whatever the picture was: each is asked once in the whole job."""
    questions = list(dict.fromkeys(p.question for probes in merged.values() for p in probes if p.view is View.TEXT))
    for start in range(0, len(questions), TEXT_QUESTIONS):
        yield Entry(None, View.TEXT, tuple(questions[start : start + TEXT_QUESTIONS]))


def _batches(entries: Sequence[Entry], size: Size, budget: int) -> Iterator[tuple[Entry, ...]]:
    batch: list[Entry] = []
    longest = 0
    for entry in entries:
        tokens = size(entry.image, len(entry.questions))
        mixed = bool(batch) and (batch[0].image is None) != (entry.image is None)
        if batch and (mixed or max(longest, tokens) * (len(batch) + 1) > budget):
            yield tuple(batch)
            batch, longest = [], 0
        batch.append(entry)
        longest = max(longest, tokens)
    if batch:
        yield tuple(batch)
