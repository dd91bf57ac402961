# torch and transformers type their own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Packed forwards: the trees of a batch lie one behind the other in one row, without padding between them.

A tree's nodes are in depth-first order, so a node's descendants are the nodes that follow it, up to an end. One integer
per token is then the whole mask: token q sees token k iff k ≤ q < end[k], which is causal, inside one picture and along
one branch. FlexAttention skips the blocks that nothing sees; pictures of any sizes share the vision tower's attention.
"""

from __future__ import annotations

import inspect
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.attention.flex_attention import BlockMask, flex_attention
from torch.nn.functional import scaled_dot_product_attention
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, sdpa_mask
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from recap.models.layers import head_width
from recap.models.tree import Tree

try:
    from torch.nn.attention.varlen import varlen_attn
except ImportError:  # torch before 2.10
    varlen_attn = None

TREES, PICTURES = "recap_packed", "recap_flash_varlen"
"""what the decoder's and the vision tower's attention are called in a model's config; transformers hands cumulative
lengths to what has `flash` in its name"""
LONGEST_PICTURE = "recap_longest_picture"
"""where the vision tower's config says how many patches the largest picture of the batch has"""
BUCKET = 512
"""packed lengths are rounded up to a multiple of this"""
SMALL_BLOCK, BLOCK = 64, 128
"""tokens of a block of attention: a tree of some hundreds leaves less of small blocks unused"""
SMALL_BLOCKS = {"BLOCK_M": SMALL_BLOCK, "BLOCK_N": SMALL_BLOCK, "num_warps": 4, "num_stages": 2}
"""how FlexAttention computes with small blocks, where numbers of two bytes and heads of at most `WIDEST_HEAD` leave
room for them; elsewhere it chooses by itself"""
WIDEST_HEAD = 128
LONGEST = 1 << 17
"""tokens of a row for which a buffer is kept: one that stays, or the mask would be compiled anew"""


@dataclass(frozen=True)
class Packed:
    """Trees one behind the other."""

    tokens: NDArray[np.int64]
    ends: NDArray[np.int32]
    """per token, the index behind its last descendant"""
    starts: tuple[int, ...]
    """where each tree begins"""

    def blocks(self, size: int) -> list[NDArray[np.int32]]:
        """The mask's blocks as FlexAttention takes them: for each block of queries, how many blocks of keys it sees in
        part and which ones (these before all others), and the same of those that it sees whole."""
        return [each for seen in blocks_seen(self.ends, size) for each in _listed(seen)]


class _RowEnds:
    """The ends of the row at hand, where the mask function reads them while attention runs: a buffer per stream."""

    def __init__(self, ends: torch.Tensor) -> None:
        self.ends = ends

        def sees(_batch: Any, _head: Any, q: Any, k: Any) -> Any:
            return (k <= q) & (q < self.ends[k])

        self.sees = sees

    def fill(self, ends: torch.Tensor, least: int) -> None:
        if len(ends) > len(self.ends):
            with torch.inference_mode(False):
                self.ends = torch.zeros(max(least, len(ends)), dtype=torch.int32, device=ends.device)
        self.ends[: len(ends)].copy_(ends)


class PackedAttention:
    """Makes a model ready for packed rows, and the mask of each. One mask function for all rows: nothing recompiles."""

    def __init__(self, model: Any, device: torch.device) -> None:
        self.device = device
        self._rows: dict[int, _RowEnds] = {}
        config = model.config
        self.block = SMALL_BLOCK if _takes_small_blocks(model) else BLOCK
        parts = {id(part): (part, TREES) for part in (config, config.get_text_config())}
        vision = getattr(config, "vision_config", None)
        self._vision = None
        if vision is not None and device.type == "cuda" and varlen_attn is not None and _takes_lengths(model):
            parts[id(vision)] = (vision, PICTURES)
            self._vision = vision
        self._before = [(part, part._attn_implementation) for part, _ in parts.values()]
        for part, name in parts.values():
            part._attn_implementation = name

    def restore(self) -> None:
        """The model as it was."""
        for part, name in self._before:
            part._attn_implementation = name

    @staticmethod
    def row(trees: Sequence[Tree], padding: int) -> Packed:
        """The trees in one row; what fills it up to a multiple of `BUCKET` sees only itself."""
        starts = np.cumsum([0, *map(len, trees)])
        length = -(-int(starts[-1]) // BUCKET) * BUCKET
        tokens = np.full(length, padding, dtype=np.int64)
        ends = np.arange(1, length + 1, dtype=np.int32)
        for tree, start in zip(trees, starts, strict=False):
            tokens[start : start + len(tree)] = tree.tokens
            ends[start : start + len(tree)] = tree.subtree_ends() + start
        return Packed(tokens, ends, tuple(int(start) for start in starts[:-1]))

    @contextmanager
    def showing(self, longest: int) -> Generator[None]:
        """While a batch is computed whose largest picture has so many patches; 0 if that is not known.

        Read from the GPU, where the model would have it, it stops every layer.
        """
        if self._vision is None:
            yield
            return
        setattr(self._vision, LONGEST_PICTURE, longest)
        try:
            yield
        finally:
            setattr(self._vision, LONGEST_PICTURE, 0)

    def mask(self, ends: torch.Tensor, *blocks: torch.Tensor) -> BlockMask:
        """Who sees whom in a packed row, from each token's end, (T,), and the row's blocks."""
        cuda = self.device.type == "cuda"
        stream = torch.cuda.current_stream(self.device).cuda_stream if cuda else 0
        row = self._rows.setdefault(stream, _RowEnds(torch.zeros(0, dtype=torch.int32, device=self.device)))
        row.fill(ends, LONGEST if cuda else BUCKET)
        # Only a backward pass needs the blocks by their keys.
        make: Any = BlockMask.from_kv_blocks
        return make(*blocks, BLOCK_SIZE=self.block, mask_mod=row.sees, compute_q_blocks=False)


def blocks_seen(ends: NDArray[np.int32], size: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which blocks of queries see which blocks of keys, in part and as a whole, (blocks, blocks) each.

    The first and the last end in a block of keys tell: nobody has to look at all pairs of tokens.
    """
    keys = ends.reshape(-1, size)
    begin = np.arange(0, len(ends), size)[:, None]
    earlier = begin > begin.T
    wholly = earlier & (keys.min(1) >= begin + size)
    partly = (earlier & (keys.max(1) > begin) & ~wholly) | (begin == begin.T)
    return partly, wholly


def _listed(blocks: NDArray[np.bool_]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """For each block of queries, how many blocks of keys it sees, and these before others: (1, 1, n), (1, 1, n, n)."""
    order = np.argsort(~blocks, axis=-1, kind="stable").astype(np.int32)
    return blocks.sum(-1, dtype=np.int32)[None, None], order[None, None]


_uncompiled: Any = torch.compiler.disable
"""a layer is compiled up to its attention and behind it; the attention is compiled by itself, once for all layers"""


@cache
def _compiled(function: Any) -> Any:
    """Compiled once for all lengths."""
    return torch.compile(function, dynamic=True)


@_uncompiled
def _flex(query: Any, key: Any, value: Any, mask: BlockMask, scaling: float | None) -> Any:
    attend: Any = _compiled(flex_attention) if query.is_cuda else flex_attention
    options = SMALL_BLOCKS if mask.BLOCK_SIZE[0] == SMALL_BLOCK else None
    return attend(query, key, value, block_mask=mask, scale=scaling, enable_gqa=True, kernel_options=options)


def attend_trees(
    module: Any, query: Any, key: Any, value: Any, attention_mask: Any, scaling: float | None = None, **rest: Any
) -> tuple[Any, None]:
    """The decoder's attention: over a packed row where its mask is given, and as usual elsewhere."""
    if isinstance(attention_mask, BlockMask):
        return _flex(query, key, value, attention_mask, scaling).transpose(1, 2).contiguous(), None
    return sdpa_attention_forward(module, query, key, value, attention_mask, scaling=scaling, **rest)


@_uncompiled
def _varlen(query: Any, key: Any, value: Any, lengths: Any, longest: int) -> Any:
    attend: Any = varlen_attn
    return attend(query, key, value, lengths, lengths, longest, longest)


def attend_pictures(
    module: Any, query: Any, key: Any, value: Any, cu_seq_lens_q: Any, max_length_q: Any, **_rest: Any
) -> tuple[Any, None]:
    """The vision tower's attention over pictures of any sizes, one behind the other: one call per layer."""
    if query.dtype == torch.float32 or query.shape[-1] % 8:  # no such kernel: picture by picture
        parts = (each.split(cu_seq_lens_q.diff().tolist(), dim=2) for each in (query, key, value))
        shown = [scaled_dot_product_attention(*each) for each in zip(*parts, strict=True)]
        return torch.cat(shown, dim=2).transpose(1, 2).contiguous(), None
    rows = [each[0].transpose(0, 1) for each in (query, key, value)]
    longest = getattr(module.config, LONGEST_PICTURE, 0) or int(max_length_q)
    return _varlen(*rows, cu_seq_lens_q.int(), longest)[None], None


def _takes_small_blocks(model: Any) -> bool:
    try:
        return head_width(model.config.get_text_config()) <= WIDEST_HEAD and model.dtype.itemsize == 2
    except AttributeError:  # a config that tells nothing of its heads
        return False


def _takes_lengths(model: Any) -> bool:
    return any("cu_seqlens" in inspect.signature(type(part).forward).parameters for part in model.modules())


ALL_ATTENTION_FUNCTIONS.register(TREES, attend_trees)
ALL_MASK_ATTENTION_FUNCTIONS.register(TREES, sdpa_mask)
ALL_ATTENTION_FUNCTIONS.register(PICTURES, attend_pictures)
