"""The mask of a packed row: its blocks are those that FlexAttention itself would find, token by token."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.attention.flex_attention import create_block_mask

from recap.models.packed import BUCKET, PackedAttention, blocks_seen
from recap.models.tree import Tree, build_tree


def _tree(rng: np.random.Generator, longest: int) -> Tree:
    """A picture of some tokens and questions that fork at several places."""
    prefix = list(range(int(rng.integers(1, longest))))
    asked = [[*rng.integers(0, 3, int(rng.integers(1, 24)))] for _ in range(int(rng.integers(1, 9)))]
    return build_tree([[*prefix, *map(int, each), 9] for each in asked])


@pytest.mark.parametrize("block", [64, 128])
@given(seed=st.integers(0, 10_000), trees=st.integers(1, 8), longest=st.sampled_from([8, 200, 900]))
@settings(max_examples=25, deadline=None)
def test_blocks_are_those_of_the_mask_function(block: int, seed: int, trees: int, longest: int) -> None:
    rng = np.random.default_rng(seed)
    row = PackedAttention.row([_tree(rng, longest) for _ in range(trees)], padding=0)
    ends = torch.from_numpy(row.ends)

    def sees(_batch: int, _head: int, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        return (k <= q) & (q < ends[k])

    wanted = create_block_mask(sees, 1, 1, len(ends), len(ends), device="cpu", BLOCK_SIZE=block)
    partly, wholly = map(torch.from_numpy, blocks_seen(row.ends, block))
    assert len(ends) % BUCKET == 0
    tokens = torch.arange(len(ends))
    visible = sees(0, 0, tokens[:, None], tokens[None, :]).view(len(partly), block, len(partly), block)
    assert torch.equal(wholly, visible.all(dim=3).all(dim=1)), "all of a block is seen by all of another"
    assert torch.equal(partly | wholly, visible.any(dim=3).any(dim=1)), (
        "no block that is seen is left out, no other is in"
    )
    assert torch.equal((partly | wholly).int(), wanted.to_dense()[0, 0])


def test_the_mask_lists_those_blocks_and_no_token_of_another_tree() -> None:
    rng = np.random.default_rng(3)
    trees = [_tree(rng, 300) for _ in range(4)]
    row = PackedAttention.row(trees, padding=0)
    ends = torch.from_numpy(row.ends)
    partly, wholly = blocks_seen(row.ends, 64)
    counts, partly_listed, _, _ = row.blocks(64)
    for number, listed, seen in zip(counts[0, 0], partly_listed[0, 0], partly, strict=True):
        assert list(listed[:number]) == list(np.flatnonzero(seen))
    for start, tree in zip(row.starts, trees, strict=True):
        inside = slice(start, start + len(tree))
        tokens = torch.arange(len(ends))
        visible = (tokens[None, :] <= tokens[:, None]) & (tokens[:, None] < ends[None, :])
        assert torch.equal(visible[inside, inside], torch.from_numpy(tree.visible()))
        assert not visible[inside].clone().index_fill_(1, tokens[inside], 0).any()
    assert not (partly & wholly).any()
