"""Choice groups: several statements about one ordered pair of things, of which exactly one holds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from recap.arrays import Bools, Floats
from recap.table import MarginTable

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Choices:
    """The choice groups of a table, as row numbers. A group need not have as many options as the next."""

    table: MarginTable
    gold: Indices
    """the row that holds, (groups,)"""
    others: Indices
    """the other options' rows, (groups, K); −1 where a group has fewer"""

    @classmethod
    def of(cls, table: MarginTable) -> Choices:
        """Labelled rows of one unit with the same subject and object, asking different relations, one of them true."""
        together: dict[tuple[str, str, str], list[int]] = {}
        for i, row in enumerate(table.rows):
            # Without both names nobody can say that two statements are about the same pair.
            if row.label is not None and row.claim is not None and row.subject and row.object:
                together.setdefault((row.unit, row.subject, row.object), []).append(i)
        # The option that holds comes first; the others keep their order.
        groups = [
            sorted(rows, key=lambda i: not table.positive[i]) for rows in together.values() if _is_choice(table, rows)
        ]
        options = np.full((len(groups), max(map(len, groups), default=1)), -1, dtype=np.intp)
        for g, rows in enumerate(groups):
            options[g, : len(rows)] = rows
        return cls(table, options[:, 0], options[:, 1:])

    def __len__(self) -> int:
        return len(self.gold)

    @cached_property
    def present(self) -> Bools:
        """Which places of `others` hold an option."""
        return self.others >= 0

    @cached_property
    def rivals(self) -> Indices:
        """For each row of the table the other options of its group, (n, K); −1 where there are none."""
        rivals = np.full((len(self.table), self.others.shape[1]), -1, dtype=np.intp)
        options = np.column_stack([self.gold, self.others])
        for place in range(options.shape[1]):
            held = options[:, place] >= 0
            rivals[options[held, place]] = np.delete(options[held], place, axis=1)
        return rivals

    @cached_property
    def rows(self) -> Bools:
        """Which rows of the table belong to a group."""
        return np.asarray((self.rivals >= 0).any(axis=1), dtype=bool)

    @cached_property
    def margin(self) -> Floats:
        """m_I of every row's own question: what the options are compared by."""
        return self.table.direct("image")

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """The relations that are asked, in the order of their names."""
        return tuple(sorted({row.relation for row in self.table.rows}))

    @cached_property
    def asked(self) -> Indices:
        """The relation that each row asks, as its place in the vocabulary. Not canonical: the pair stays as it is."""
        place = {name: i for i, name in enumerate(self.vocabulary)}
        return np.array([place[row.relation] for row in self.table.rows], dtype=np.intp)

    @cached_property
    def offered(self) -> set[tuple[str, str]]:
        """Ordered pairs of relations that some group offers together."""
        row, place = np.nonzero(self.rivals >= 0)
        together = np.unique(np.column_stack([self.asked[row], self.asked[self.rivals[row, place]]]), axis=0)
        return {(self.vocabulary[a], self.vocabulary[b]) for a, b in together}

    def ranks(self, score: Floats) -> NDArray[np.int64]:
        """The place of the true option when a group's options are ordered by this score of their rows, (groups,).

        Ties count against it: in What'sUp's files it always stands first, and that must not help.
        """
        at_least = score[self.others] >= score[self.gold][:, None]
        return 1 + (at_least & self.present).sum(axis=1)


def _is_choice(table: MarginTable, rows: list[int]) -> bool:
    relations = {table.rows[i].relation for i in rows}
    return len(rows) > 1 and len(relations) == len(rows) and sum(bool(table.positive[i]) for i in rows) == 1
