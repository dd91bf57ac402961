# torch types its own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""What two boxes say about a relation: rules for directions, and a teacher that learned the rest from people.

Rules hold where a direction is clear. For "on", "inside", "in front of" and all else that people mean by more than
geometry, a small network learns from VSR's training statements, with the true boxes, how likely people are to say yes;
its probabilities are the answers to questions about pictures that have boxes and no statements.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812

from recap.photo.things import number_of, things
from recap.photo.training.annotations import Boxes, PersonStatement

Tensor = torch.Tensor

FEATURES = 21
MIRRORED = {"left_of": "right_of", "right_of": "left_of"}


def pair_features(a: Tensor, b: Tensor) -> Tensor:
    """(…, 21): what a relation may depend on, from the corners of two boxes (…, 4)."""
    (ax, ay), (bx, by) = (((each[..., :2] + each[..., 2:]) / 2).unbind(-1) for each in (a, b))
    aw, ah, bw, bh = a[..., 2] - a[..., 0], a[..., 3] - a[..., 1], b[..., 2] - b[..., 0], b[..., 3] - b[..., 1]
    ix = torch.minimum(a[..., 2], b[..., 2]) - torch.maximum(a[..., 0], b[..., 0])
    iy = torch.minimum(a[..., 3], b[..., 3]) - torch.maximum(a[..., 1], b[..., 1])
    inter, area_a, area_b = ix.clamp(min=0) * iy.clamp(min=0), (aw * ah).clamp(min=1e-5), (bw * bh).clamp(min=1e-5)
    return torch.stack(
        [
            ax, ay, aw, ah, bx, by, bw, bh, ax - bx, ay - by, ix, iy, a[..., 3] - b[..., 3], a[..., 1] - b[..., 1],
            a[..., 3] - b[..., 1], b[..., 3] - a[..., 1], inter / area_a, inter / area_b,
            inter / (area_a + area_b - inter).clamp(min=1e-5), 0.3 * torch.log(area_a / area_b),
            (ax - bx).abs(),
        ],
        -1,
    )  # fmt: skip


def clear_direction(a: Tensor, b: Tensor, axis: int, gap: float) -> Tensor:
    """−1 where box a lies clearly before box b along the axis (0: left, 1: above), 1 where behind, 0 elsewhere.

    Clear: the centres are at least `gap` apart, and the boxes overlap along the axis by at most half the smaller one.
    """
    lo, hi = torch.maximum(a[..., axis], b[..., axis]), torch.minimum(a[..., axis + 2], b[..., axis + 2])
    size_a, size_b = a[..., axis + 2] - a[..., axis], b[..., axis + 2] - b[..., axis]
    apart = ((a[..., axis] + a[..., axis + 2]) - (b[..., axis] + b[..., axis + 2])) / 2
    clear = (apart.abs() >= gap) & ((hi - lo) <= 0.5 * torch.minimum(size_a, size_b))
    return torch.where(clear, apart.sign(), torch.zeros_like(apart))


@dataclass(frozen=True)
class Examples:
    """Statements with the boxes of their two things."""

    relation: Tensor
    kinds: Tensor
    """(n, 2)"""
    corners: Tensor
    """(n, 2, 4)"""
    label: Tensor


def with_boxes(
    statements: list[PersonStatement], boxes: Boxes, relations: dict[str, int]
) -> tuple[Examples, np.ndarray]:
    """The statements both of whose things have a box (the largest of its kind), and which these are."""
    row_of = {int(image): row for row, image in enumerate(boxes.ids)}
    known = number_of()
    kept: list[tuple[int, int, int, np.ndarray, np.ndarray, bool]] = []
    which: list[int] = []
    for place, said in enumerate(statements):
        row = row_of.get(said.image)
        if row is None or said.relation not in relations or said.subject not in known or said.object not in known:
            continue
        a, b = known[said.subject], known[said.object]
        at_a, at_b = np.flatnonzero(boxes.kind[row] == a), np.flatnonzero(boxes.kind[row] == b)
        if a == b or not len(at_a) or not len(at_b):
            continue
        kept.append(
            (relations[said.relation], a, b, boxes.corners[row, at_a[0]], boxes.corners[row, at_b[0]], said.label)
        )
        which.append(place)
    relation = torch.tensor([each[0] for each in kept], dtype=torch.long)
    kinds = torch.tensor([each[1:3] for each in kept], dtype=torch.long).view(-1, 2)
    corners = torch.from_numpy(np.array([[each[3], each[4]] for each in kept], np.float32)).view(-1, 2, 4)
    return Examples(relation, kinds, corners, torch.tensor([float(each[5]) for each in kept])), np.array(
        which, np.int64
    )


class Teacher(torch.nn.Module):
    """How likely people say yes to a relation between two boxes: several small networks, their mean logit."""

    def __init__(self, relations: dict[str, int], members: int = 5, width: int = 192) -> None:
        super().__init__()
        swap = [relations.get(MIRRORED.get(name, name), place) for name, place in relations.items()]
        self.mirrored: Tensor
        self.register_buffer("mirrored", torch.tensor(swap))

        def fresh(*shape: int, std: float) -> torch.nn.Parameter:
            return torch.nn.Parameter(torch.randn(members, *shape) * std)

        into = FEATURES + 24 + 20
        self.relation, self.thing = fresh(len(relations), 24, std=1.0), fresh(len(things()), 10, std=0.3)
        self.one, self.two, self.out = (
            fresh(into, width, std=into**-0.5), fresh(width, width, std=width**-0.5), fresh(width, 1, std=width**-0.5)
        )  # fmt: skip
        self.shift_one, self.shift_two = (torch.nn.Parameter(torch.zeros(members, 1, width)) for _ in range(2))
        self.shift_out = torch.nn.Parameter(torch.zeros(members, 1, 1))

    def each(self, relation: Tensor, kinds: Tensor, corners: Tensor, dropout: float = 0.0) -> Tensor:
        """Logits of every member, (members, n), each for its own examples (members, n, …) or for the same."""
        members = len(self.out)
        relation, kinds, corners = (
            x if x.shape[0] == members and x.dim() == depth else x.expand(members, *x.shape)
            for x, depth in ((relation, 2), (kinds, 3), (corners, 4))
        )
        who = torch.arange(members, device=relation.device)[:, None]
        what = self.thing[who[..., None], kinds].flatten(-2)
        seen = pair_features(corners[..., 0, :], corners[..., 1, :]) * 2
        x = torch.cat([seen, self.relation[who, relation], what], -1)
        for weight, shift in ((self.one, self.shift_one), (self.two, self.shift_two)):
            x = F.dropout(F.gelu(x @ weight + shift), dropout, dropout > 0)
        return (x @ self.out + self.shift_out)[..., 0]

    @torch.no_grad()
    def forward(self, relation: Tensor, kinds: Tensor, corners: Tensor) -> Tensor:
        """Mean logit of yes, (n,). A picture and its mirror image count alike."""
        relation = torch.cat([relation, self.mirrored[relation]])
        logits = self.each(relation, torch.cat([kinds, kinds]), torch.cat([corners, mirror(corners)])).mean(0)
        return logits.unflatten(0, (2, -1)).mean(0)

    def fit(self, examples: Examples, steps: int = 700, batch: int = 256, seed: int = 0) -> None:
        """Learn from statements, each member from its own draws."""
        members, n, device = len(self.out), len(examples.label), self.out.device
        generator = torch.Generator().manual_seed(seed)
        optimizer = torch.optim.AdamW(self.parameters(), lr=2e-3, weight_decay=0.1)
        schedule: Any = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
        for _ in range(steps):
            rows = torch.randint(n, (members, batch), generator=generator)
            turn = (torch.rand((members, batch), generator=generator) < 0.5).to(device)
            noise = 0.01 * torch.randn((members, batch, 2, 4), generator=generator).to(device)
            relation, kinds, corners, label = (
                x[rows].to(device) for x in (examples.relation, examples.kinds, examples.corners, examples.label)
            )
            corners = torch.where(turn[..., None, None], mirror(corners), corners) + noise
            relation = torch.where(turn, self.mirrored[relation], relation)
            loss = F.binary_cross_entropy_with_logits(self.each(relation, kinds, corners, 0.25), label * 0.9 + 0.05)
            optimizer.zero_grad()
            (loss * members).backward()
            optimizer.step()
            schedule.step()


def mirror(corners: Tensor) -> Tensor:
    """Boxes in the mirror image."""
    return torch.stack([1 - corners[..., 2], corners[..., 1], 1 - corners[..., 0], corners[..., 3]], -1)
