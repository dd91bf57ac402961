from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recap.models.tree import Tree, build_tree

Sequences = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=8), min_size=1, max_size=8)


def path(tree: Tree, node: int) -> list[int]:
    found = []
    while node >= 0:
        found.append(node)
        node = int(tree.parents[node])
    return found[::-1]


@given(Sequences)
def test_every_sequence_is_a_path_of_the_tree(sequences: list[list[int]]) -> None:
    tree = build_tree(sequences)
    for sequence, end in zip(sequences, tree.ends, strict=True):
        assert tree.tokens[path(tree, end)].tolist() == sequence
        assert tree.depths[path(tree, end)].tolist() == list(range(len(sequence)))


@given(Sequences)
def test_a_common_beginning_is_stored_once(sequences: list[list[int]]) -> None:
    beginnings = {tuple(s[: i + 1]) for s in sequences for i in range(len(s))}
    assert len(build_tree(sequences)) == len(beginnings)


@given(Sequences)
def test_a_node_sees_its_ancestors_and_itself_only(sequences: list[list[int]]) -> None:
    tree = build_tree(sequences)
    visible = tree.visible()
    for node in range(len(tree)):
        assert np.flatnonzero(visible[node]).tolist() == sorted(path(tree, node))
    assert (tree.parents < np.arange(len(tree))).all()


@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=6), min_size=1, max_size=8))
def test_one_end_per_node_is_the_whole_mask(sequences: list[list[int]]) -> None:
    tree = build_tree(sequences)
    q, k = np.mgrid[: len(tree), : len(tree)]
    assert ((k <= q) & (q < tree.subtree_ends()[k])).tolist() == tree.visible().tolist()
