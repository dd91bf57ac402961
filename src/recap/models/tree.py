"""The token tree: all questions about one image as branches of one sequence, so that the image is read once.

Token sequences that begin alike share those tokens. Every token sees its ancestors and itself, nothing else, and
keeps the position it would have had in its own sequence: a causal model computes for each branch what it would alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Tree:
    """Sequences merged by their common beginnings. Nodes are in depth-first order: parents come before children."""

    tokens: NDArray[np.int64]
    parents: NDArray[np.int64]
    """index of the parent node; −1 for the root"""
    depths: NDArray[np.int64]
    """a node's place in its own sequence"""
    ends: tuple[int, ...]
    """for each sequence, the node that holds its last token"""

    def __len__(self) -> int:
        return len(self.tokens)

    def visible(self) -> NDArray[np.bool_]:
        """Which nodes each node may attend to: its ancestors and itself, (T, T)."""
        n = len(self)
        mask = np.zeros((n, n), dtype=bool)
        trunk = self._trunk()
        mask[:trunk, :trunk] = np.tri(trunk, dtype=bool)
        for i in range(trunk, n):
            mask[i] = mask[self.parents[i]]
            mask[i, i] = True
        return mask

    def subtree_ends(self) -> NDArray[np.int64]:
        """For each node, the index behind its last descendant: in depth-first order they follow it, (T,)."""
        ends = np.arange(1, len(self) + 1)
        trunk = self._trunk()
        for i in range(len(self) - 1, trunk - 1, -1):
            parent = self.parents[i]
            ends[parent] = max(ends[parent], ends[i])
        # Up the first sequence, in which every node is the parent of the next.
        ends[:trunk] = np.maximum.accumulate(ends[:trunk][::-1])[::-1]
        return ends

    def _trunk(self) -> int:
        """How many nodes come before the first fork: they form a plain sequence."""
        off = np.flatnonzero(self.parents != np.arange(-1, len(self) - 1))
        return int(off[0]) if len(off) else len(self)


def build_tree(sequences: Sequence[Sequence[int]]) -> Tree:
    """Merge token sequences (none empty) into a tree.

    Sorted, sequences that share a beginning lie side by side, so each one forks off its neighbour's path. What all of
    them share, the picture above all, is found by comparing the first with the last, and becomes one plain sequence.
    """
    order = sorted(range(len(sequences)), key=lambda i: tuple(sequences[i]))
    first = sequences[order[0]]
    trunk = common_length(first, sequences[order[-1]])
    path = list(range(trunk))
    tokens: list[int] = []
    parents: list[int] = []
    depths: list[int] = []
    ends = [0] * len(sequences)
    previous: Sequence[int] = first[:trunk]
    for i in order:
        sequence = sequences[i]
        shared = trunk + common_length(previous[trunk:], sequence[trunk:])
        del path[shared:]
        for depth in range(shared, len(sequence)):
            parents.append(path[-1] if path else -1)
            path.append(trunk + len(tokens))
            tokens.append(sequence[depth])
            depths.append(depth)
        ends[i] = path[len(sequence) - 1]
        previous = sequence
    return Tree(
        np.array([*first[:trunk], *tokens]),
        np.concatenate([np.arange(-1, trunk - 1), np.array(parents, dtype=np.int64)]),
        np.concatenate([np.arange(trunk), np.array(depths, dtype=np.int64)]),
        tuple(ends),
    )


def common_length(one: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens two sequences share at the beginning."""
    shortest = min(len(one), len(other))
    differs = np.flatnonzero(np.asarray(one[:shortest]) != np.asarray(other[:shortest]))
    return int(differs[0]) if len(differs) else shortest
