"""Which answers to label next: those whose truth would teach a policy most."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from recap.errors import RecapError
from recap.policy.policy import Policy
from recap.table import MarginTable, Row


def review_queue(policy: Policy, table: MarginTable, number: int = 20) -> list[Row]:
    """So many unlabelled rows, nearest to their threshold first, one of each unit before a second of any.

    A threshold moves by what is true around it; far from it a label changes nothing. Distance is counted in answers:
    the share of the table's risks that lie between a row's risk and its threshold. What cannot be scored comes last.
    """
    if number < 1:
        raise RecapError(f"number is {number}; at least one is needed")
    waiting = table.where(~table.labelled)
    if not len(waiting):
        raise RecapError(f"{table.source}: every row has a label")
    applied = policy.apply(policy.scores(table))
    known = np.sort(applied.risk[~np.isnan(applied.risk)])

    def share(values: np.ndarray) -> np.ndarray:
        return np.searchsorted(known, values, side="right") / max(1, len(known))

    far = np.abs(share(applied.risk) - share(applied.threshold))
    far = np.where(np.isnan(applied.risk), np.inf, far)[~table.labelled]
    order = np.argsort(far, kind="stable")
    taken: dict[int, int] = {}
    rank = np.empty(len(order), dtype=int)
    for place in order:
        unit = int(waiting.units[place])
        rank[place] = taken[unit] = taken.get(unit, -1) + 1
    return [waiting.rows[i] for i in sorted(order.tolist(), key=lambda i: (rank[i], far[i]))[:number]]


def with_labels(table: MarginTable, labelled: MarginTable) -> MarginTable:
    """The table with the labels that the other one has for rows of the same id; contradicting ones are refused."""
    labels = {row.id: row.label for row in labelled.rows if row.label is not None}
    if not labels:
        raise RecapError(f"{labelled.source}: no row has a label")
    ids = {row.id for row in table.rows}
    strangers = [name for name in labels if name not in ids]
    if strangers:
        raise RecapError(f'{labelled.source}: "{strangers[0]}" is no row of {table.source}')
    for row in table.rows:
        if row.label is not None and labels.get(row.id, row.label) != row.label:
            raise RecapError(
                f'{labelled.source}: "{row.id}" is labelled {labels[row.id]}, but {row.label} in {table.source}'
            )
    rows = tuple(row.model_copy(update={"label": labels.get(row.id, row.label)}) for row in table.rows)
    return replace(table, rows=rows)
