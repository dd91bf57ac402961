# torch and transformers type their own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""How the trees of a batch are laid out for a forward: in one packed row, or padded to the longest.

All of it is made ahead of the model's turn, in the threads that prepare: trees, token ids, positions, and on a GPU the
copies too, from pinned memory in a stream of their own.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from recap.models.prompt import Prompted
from recap.models.tree import Tree, build_tree

if TYPE_CHECKING:
    from recap.models.packed import PackedAttention


AT_ONCE = 1 << 23
"""numbers that are copied to a GPU in one piece. Pinning takes long and holds up whatever is launched: the pixels of a
batch go through a few small pieces of pinned memory, which torch uses again and again"""


@dataclass(frozen=True)
class TreeBatch:
    """Trees laid out, ready for their forward."""

    trees: tuple[Tree, ...]
    starts: tuple[int, ...]
    """where each tree begins among all nodes, one row behind the other"""
    read: torch.Tensor
    """the nodes at which answers are read, among all nodes, in the order of the sequences"""
    ids: torch.Tensor
    """token ids, (rows, T)"""
    positions: torch.Tensor
    """(rows, T), or (3, rows, T) for models with M-RoPE"""
    sight: tuple[torch.Tensor, ...]
    """packed: per token the index behind its last descendant, (T,), and the mask's blocks; padded, a single one: who
    sees whom, (rows, 1, T, T)"""
    vision: dict[str, Any]
    longest: int = 0
    """patches of the largest picture, where the processor tells"""
    copied: torch.cuda.Event | None = None
    """set where the tensors lie on the GPU already, once this has happened"""

    @property
    def tensors(self) -> list[torch.Tensor]:
        given = (self.read, self.ids, self.positions, *self.sight, *self.vision.values())
        return [each for each in given if isinstance(each, torch.Tensor)]


class Layout:
    """Lays out the trees of one model."""

    def __init__(self, model: Any, device: torch.device, dtype: torch.dtype, padding: int) -> None:
        self.model, self.device, self.dtype, self.padding = model, device, dtype, padding
        self.body = getattr(model, model.base_model_prefix)
        self._copying = torch.cuda.Stream(device) if device.type == "cuda" else None

    def batch(
        self, prompted: Prompted, sequences: Sequence[Sequence[Sequence[int]]], packed: PackedAttention | None
    ) -> TreeBatch:
        """The batch on the model's device. `sequences` are the prompts with as much of the answers as is scored."""
        trees = tuple(build_tree(each) for each in sequences)
        positions = self._positions(trees, prompted)
        if packed is not None:
            row = packed.row(trees, self.padding)
            starts, ids = row.starts, torch.from_numpy(row.tokens)[None]
            sight = tuple(torch.from_numpy(each) for each in (row.ends, *row.blocks(packed.block)))
            placed = positions[0].new_zeros((len(positions[0]), 1, ids.shape[1]))
            for start, each in zip(starts, positions, strict=True):
                placed[:, 0, start : start + each.shape[1]] = each
        else:
            width = max(map(len, trees))
            starts = tuple(range(0, width * len(trees), width))
            ids, visible = self._padded(trees, width)
            sight = (visible,)
            placed = positions[0].new_zeros((len(positions[0]), len(trees), width))
            for number, each in enumerate(positions):
                placed[:, number, : each.shape[1]] = each
        read = [start + end for start, tree in zip(starts, trees, strict=True) for end in tree.ends]
        placed = placed if len(placed) > 1 else placed[0]
        grid = prompted.vision.get("image_grid_thw")
        longest = 0 if grid is None else int((grid[:, 1] * grid[:, 2]).max())
        return self.place(TreeBatch(trees, starts, torch.tensor(read), ids, placed, sight, prompted.vision, longest))

    def place(self, batch: TreeBatch) -> TreeBatch:
        """On the model's device, floating tensors in its dtype. On a GPU the copy runs beside what that is doing."""
        if self._copying is None:
            return self._placed(batch, self._to_device)
        with torch.cuda.stream(self._copying):
            placed = self._placed(batch, self._from_pinned)
            return replace(placed, copied=self._copying.record_event())

    def _placed(self, batch: TreeBatch, move: Any) -> TreeBatch:
        vision = {
            name: move(value) if isinstance(value, torch.Tensor) else value for name, value in batch.vision.items()
        }
        read, ids, positions, *sight = map(move, (batch.read, batch.ids, batch.positions, *batch.sight))
        return replace(batch, read=read, ids=ids, positions=positions, sight=tuple(sight), vision=vision)

    def _to_device(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.to(self.device, self.dtype if tensor.is_floating_point() else tensor.dtype)

    def _from_pinned(self, tensor: torch.Tensor) -> torch.Tensor:
        """From pageable memory a copy would wait for the GPU, and the GPU for it."""
        dtype = self.dtype if tensor.is_floating_point() else tensor.dtype
        if tensor.is_cuda:
            return tensor.to(dtype)
        placed = torch.empty(tensor.shape, dtype=dtype, device=self.device)
        for part, place in zip(tensor.flatten().split(AT_ONCE), placed.flatten().split(AT_ONCE), strict=True):
            place.copy_(_pinned(part.shape, dtype).copy_(part), non_blocking=True)
        return placed

    def _padded(self, trees: Sequence[Tree], width: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Token ids (requests, T) and who sees whom (requests, 1, T, T) of trees padded to a batch."""
        ids = torch.full((len(trees), width), self.padding, dtype=torch.long)
        visible = torch.zeros((len(trees), 1, width, width), dtype=torch.bool)
        # A padded place must see something, or its softmax is empty: it sees itself, and nobody sees it.
        visible[:, 0, range(width), range(width)] = True
        for row, tree in enumerate(trees):
            n = len(tree)
            ids[row, :n] = torch.from_numpy(tree.tokens)
            visible[row, 0, :n, :n] = torch.from_numpy(tree.visible())
        return ids, visible

    def _positions(self, trees: Sequence[Tree], prompted: Prompted) -> list[torch.Tensor]:
        """Where each tree's nodes stand in their own sequences: (1, T), or (3, T) for models with M-RoPE.

        Behind the image only text follows, whose positions grow by one: a node's position depends on its depth alone.
        """
        depths = [torch.from_numpy(tree.depths) for tree in trees]
        rope_index = getattr(self.body, "get_rope_index", None)
        if rope_index is None or not prompted.vision:
            return [each.expand(1 if rope_index is None else 3, -1) for each in depths]
        by_depth = self._rope_by_depth(rope_index, trees, prompted)
        return [positions[:, depth] for positions, depth in zip(by_depth, depths, strict=True)]

    def _rope_by_depth(self, rope_index: Any, trees: Sequence[Tree], prompted: Prompted) -> list[torch.Tensor]:
        """The model's own position ids of each request's longest path, (3, depth)."""
        paths = [_longest_path(tree) for tree in trees]
        width = max(map(len, paths))
        ids = torch.full((len(paths), width), self.padding, dtype=torch.long)
        mask = torch.zeros((len(paths), width), dtype=torch.long)
        for row, path in enumerate(paths):
            ids[row, : len(path)], mask[row, : len(path)] = torch.from_numpy(path), 1
        image_token = self.model.config.image_token_id
        given: dict[str, Any] = {
            "input_ids": ids,
            "attention_mask": mask,
            "image_grid_thw": prompted.vision["image_grid_thw"].cpu() if "image_grid_thw" in prompted.vision else None,
            "mm_token_type_ids": (ids == image_token).int(),
        }
        accepted = inspect.signature(rope_index).parameters
        positions, _ = rope_index(**{name: value for name, value in given.items() if name in accepted})
        return [positions[:, row, : len(path)] for row, path in enumerate(paths)]


def _pinned(shape: torch.Size, dtype: torch.dtype) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype, pin_memory=True)


def path_to(tree: Tree, node: int) -> list[int]:
    """Nodes from the root to this one."""
    nodes: list[int] = []
    while node >= 0:
        nodes.append(node)
        node = int(tree.parents[node])
    return nodes[::-1]


def _longest_path(tree: Tree) -> np.ndarray:
    """Token ids from the root to the deepest node."""
    return tree.tokens[path_to(tree, int(tree.depths.argmax()))]
