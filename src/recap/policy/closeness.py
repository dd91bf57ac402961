"""How close a decision is: would it still fall that way if the margins were a little, or by chance, different?

Margins of one model differ between machines, precisions, batches and engines by rounding: the noise band. Margins that
were sampled differ by chance: their posterior. Either way the row is judged again with its margins moved, by the same
policy, and what follows is said beside the verdict, which stays.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from recap.arrays import Bools, Floats
from recap.claims import Graph
from recap.policy.policy import Policy
from recap.statistics.sampling import posterior_margins
from recap.table import MarginTable, Row

MOST_CORNERS = 64
"""ways to move the margins of one row; with more of them than this allows, signs are drawn"""
DRAWS = 200
"""margins drawn for each that was sampled"""


@dataclass(frozen=True)
class SamplingError:
    """What sampling leaves open of a decision."""

    samples: int
    risk_error: float | None
    """standard deviation of the risk over margins that may stand behind the sampled ones; None without a risk"""
    agreement: float
    """share of such margins under which answer and decision are the same"""

    @property
    def note(self) -> str:
        """In a sentence."""
        spread = "" if self.risk_error is None else f"the risk has a standard error of {self.risk_error:.3f}, and "
        held = f"the verdict holds in {self.agreement:.0%} of draws"
        return f"{self.samples} answers were sampled per question: {spread}{held}"


def too_close(policy: Policy, rows: Sequence[Row], graph: Graph, width: float) -> Bools:
    """Whether moving every margin by at most `width` can change the answer or the decision, for each row, (rows,)."""
    if not rows or width <= 0:
        return np.zeros(len(rows), dtype=bool)
    moved = [_corners(row, width) for row in rows]
    same, _ = _judged(policy, rows, moved, graph)
    return np.array([not bool(each.all()) for each in same])


def sampling_errors(policy: Policy, rows: Sequence[Row], graph: Graph, samples: int) -> list[SamplingError]:
    """What sampling leaves open, for each row. The draws are the same for the same row."""
    moved = [_draws(row, samples) for row in rows]
    same, risks = _judged(policy, rows, moved, graph)
    return [
        SamplingError(samples, None if np.isnan(risk).any() else float(risk.std()), float(held.mean()))
        for held, risk in zip(same, risks, strict=True)
    ]


def _judged(
    policy: Policy, rows: Sequence[Row], moved: Sequence[Sequence[Row]], graph: Graph
) -> tuple[list[Bools], list[Floats]]:
    """For each row and each way in which it was moved: whether answer and decision stay; and the risk."""
    flat = [*rows, *itertools.chain.from_iterable(moved)]
    table = MarginTable(tuple(flat), graph, source="the audit")
    applied = policy.apply(policy.scores(table))
    verdict = np.column_stack([table.yes, applied.accepted, applied.corrected, applied.undecided])
    ends = len(rows) + np.cumsum([0, *map(len, moved)])
    spans = [slice(int(start), int(end)) for start, end in itertools.pairwise(ends)]
    same = [(verdict[span] == verdict[i]).all(axis=1) for i, span in enumerate(spans)]
    return same, [applied.risk[span] for span in spans]


Probe = tuple[str, str]
"""a channel and a relation, or `direct` and a channel"""


def _direct(row: Row, channel: str) -> Probe:
    """The probe of the direct question: the claim's own, where that is what was asked."""
    asked = None if row.claim is None or row.swapped else row.margin(channel, row.claim)
    return (channel, row.claim or "") if asked == getattr(row.direct, channel) else ("direct", channel)


def _margins(row: Row) -> dict[Probe, float]:
    """The margins of a row by probe. Two probes may have one value, sampled ones often: they still move apart."""
    direct = {_direct(row, channel): getattr(row.direct, channel) for channel in ("image", "text")}
    measured = {(channel, name): value for channel, held in row.margins.items() for name, value in (held or {}).items()}
    return {probe: value for probe, value in (direct | measured).items() if value is not None}


def _moved(row: Row, to: Mapping[Probe, float]) -> Row:
    margins = {
        channel: None if held is None else {name: to.get((channel, name), value) for name, value in held.items()}
        for channel, held in row.margins.items()
    }
    measured = [channel for channel in ("image", "text") if getattr(row.direct, channel) is not None]
    direct = row.direct.model_copy(update={channel: to[_direct(row, channel)] for channel in measured})
    return row.model_copy(update={"direct": direct, "margins": margins})


def _corners(row: Row, width: float) -> list[Row]:
    """The row with every margin moved up or down: risks rise or fall with each, so the ends of the band tell all."""
    found = _margins(row)
    if 2 ** len(found) <= MOST_CORNERS:
        signs = list(itertools.product((-1, 1), repeat=len(found)))
    else:
        signs = np.random.default_rng(0).choice((-1, 1), (MOST_CORNERS, len(found))).tolist()
    return [
        _moved(row, {probe: value + sign * width for (probe, value), sign in zip(found.items(), each, strict=True)})
        for each in signs
    ]


def _draws(row: Row, samples: int) -> list[Row]:
    found, rng = _margins(row), np.random.default_rng(0)
    drawn = np.array([posterior_margins(value, samples, DRAWS, rng) for value in found.values()]).T.tolist()
    return [_moved(row, dict(zip(found, each, strict=True))) for each in drawn]
