"""The mask of a packed row: its blocks are those that FlexAttention itself would find, token by token."""

from __future__ import annotations

import shutil
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

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
    for number, listed, seen in zip(row.blocks(block)[::2], row.blocks(block)[1::2], (partly, wholly), strict=True):
        assert number.shape == (1, 1, len(seen))
        assert listed.shape == (1, 1, *seen.shape)
        for n, order, blocks in zip(number[0, 0], listed[0, 0], seen, strict=True):
            assert list(order[:n]) == list(np.flatnonzero(blocks)), "these before all others"
            assert sorted(order) == list(range(len(blocks)))


def test_no_token_sees_one_of_another_tree() -> None:
    rng = np.random.default_rng(3)
    trees = [_tree(rng, 300) for _ in range(4)]
    row = PackedAttention.row(trees, padding=0)
    ends, tokens = torch.from_numpy(row.ends), torch.arange(len(row.ends))
    visible = (tokens[None, :] <= tokens[:, None]) & (tokens[:, None] < ends[None, :])
    for start, tree in zip(row.starts, trees, strict=True):
        inside = slice(start, start + len(tree))
        assert torch.equal(visible[inside, inside], torch.from_numpy(tree.visible()))
        assert not visible[inside].clone().index_fill_(1, tokens[inside], 0).any()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's compiler warns of torch
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a C++ compiler (g++)")
@pytest.mark.parametrize(("dtype", "block"), [(torch.bfloat16, 64), (torch.float32, 128)])
@torch.inference_mode()
def test_compiled_attention_reads_the_listed_blocks_and_no_others(dtype: torch.dtype, block: int) -> None:
    """Compiled, as on a GPU, FlexAttention goes by the lists; in eager mode it asks the mask function alone."""
    rng = np.random.default_rng(5)
    row = PackedAttention.row([_tree(rng, 700) for _ in range(5)], padding=0)
    config = SimpleNamespace(head_dim=64, _attn_implementation="sdpa")
    config.get_text_config = lambda: config
    model = SimpleNamespace(config=config, dtype=dtype)
    packed = PackedAttention(model, torch.device("cpu"))
    assert packed.block == block
    ends = torch.from_numpy(row.ends)
    mask = packed.mask(ends, *map(torch.from_numpy, row.blocks(packed.block)))
    query, key, value = (torch.randn(1, heads, len(ends), 64).to(dtype) for heads in (4, 2, 2))
    found = torch.compile(flex_attention)(query, key, value, block_mask=mask, enable_gqa=True)
    tokens = torch.arange(len(ends))
    visible = (tokens[None, :] <= tokens[:, None]) & (tokens[:, None] < ends[None, :])
    wide = (each.float().repeat_interleave(2, dim=1) for each in (key, value))
    wanted = torch.nn.functional.scaled_dot_product_attention(query.float(), *wide, attn_mask=visible)
    torch.testing.assert_close(found.float(), wanted, rtol=2e-2, atol=2e-2 if dtype == torch.bfloat16 else 1e-5)
