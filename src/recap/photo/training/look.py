# torch types its own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""The lesson of looking: where a thing's name ends in a question, the decoder tells where that thing is.

Yes and no about two things' places teach nothing as long as neither place is known, and training stays there. A head
reads the decoder low down, so that the layers above can compare what was found; it is thrown away. Some attention
heads just below it are told to look at the thing that is named. Higher up, where the answer is about to be given,
another head tells on which side of the second thing (or of the middle, where there is one thing) the first one lies,
and what is asked: the layers above only have to see whether they agree.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812

from recap.photo.training.questions import TRAINING, Asked, ThingTable
from recap.photo.training.vocabulary import topics

Tensor = torch.Tensor
BINS = 16
"""steps along an axis in which a centre is told"""


TOPIC = 0.2
"""weight of what is asked beside on which side a thing lies"""
LOUD = 4.0
"""what these heads tell is so much larger than their weights make it: they learn so much faster than the model, which
otherwise waits for them to grow"""


class LookHead(torch.nn.Module):
    """Whether a thing is there, its width and height, and in which step along each axis its centre lies."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.out = torch.nn.Linear(width, 3 + 2 * BINS)

    def forward(self, hidden: Tensor) -> Tensor:
        """(…, 3 + 2 × BINS)."""
        return LOUD * self.out(self.norm(hidden))


class OrderHead(torch.nn.Module):
    """What the answer follows from: on which side the first thing lies, and what is asked.

    Yes and no agree with neither of them, only with both together: an answer that is right half of the time does not
    tell which of them is missing.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.side, self.topic = torch.nn.Linear(width, 2), torch.nn.Linear(width, len(topics()))

    def forward(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Whether the first thing lies farther right and farther down than the second, (…, 2); the topic."""
        x = LOUD * self.norm(hidden)
        return self.side(x), self.topic(x)


def order_loss(told: tuple[Tensor, Tensor], asked: Asked, table: ThingTable, blind: int = 0) -> tuple[Tensor, Tensor]:
    """Mean loss of what an order head tells, and how often it is right about sides across the picture."""

    def of(kind: Tensor) -> tuple[Tensor, Tensor]:
        box = table.box.gather(1, kind[..., None].expand(-1, -1, 4))
        return (box[..., 2:] + box[..., :2]) / 2, table.single.gather(1, kind)

    side, topic = told
    (first, one), (second, other) = of(asked.subject), of(asked.object)
    off = first - torch.where((asked.subject == asked.object)[..., None], 0.5, second)
    sure = (one & other & asked.valid)[..., None] & (off.abs() >= TRAINING.gap)
    sure[:blind] = False
    each = F.binary_cross_entropy_with_logits(side.float(), (off > 0).float(), reduction="none")
    loss = (each * sure).sum() / sure.sum().clamp(min=1)
    word = F.cross_entropy(topic.float().flatten(0, 1), asked.topic.flatten(), reduction="none")
    heard = asked.valid.flatten()
    loss = loss + TOPIC * (word * heard).sum() / heard.sum().clamp(min=1)
    right = ((side >= 0) == (off > 0)) & sure
    return loss, right[..., 0].sum() / sure[..., 0].sum().clamp(min=1)


def look_loss(
    found: Tensor, gaze: Tensor, names: Tensor, asked: Asked, table: ThingTable, blind: int = 0
) -> tuple[Tensor, Tensor]:
    """Mean losses over the names: of what is told, and of where attention goes.

    Told is presence for all, and place and size of what is there and clearly the one meant; attention should be shared
    among the places in its box. `found` is (n, questions, width, …), `gaze` (n, heads, questions, width, places);
    `names` says whose name ends at a token (1: subject, 2: object, 0: neither). The first `blind` pictures are not
    shown.
    """
    used = (names > 0) & asked.valid[..., None]
    used[:blind] = False
    present, single, absent, box = (
        _at_names(values, names, asked) for values in (table.present, table.single, table.absent, table.box)
    )
    found = found.float()
    told, sure = used & (present | absent), (used & single).float()
    there = F.binary_cross_entropy_with_logits(found[..., 0], present.float(), reduction="none") * told
    size = box[..., 2:] - box[..., :2]
    off = F.smooth_l1_loss(torch.sigmoid(found[..., 1:3]), size, reduction="none", beta=0.1).sum(-1) * sure
    centre = (box[..., 2:] + box[..., :2]) / 2 * BINS - 0.5
    low = centre.floor().clamp(0, BINS - 2)
    part = (centre - low).clamp(0, 1)
    log = F.log_softmax(found[..., 3:].unflatten(-1, (2, BINS)), -1)
    hit = torch.stack([1 - part, part], -1) * log.gather(-1, torch.stack([low, low + 1], -1).long())
    where = -hit.sum((-1, -2)) * sure
    count = sure.sum().clamp(min=1)
    inside = places_in(table.box, gaze.shape[-1])
    shares = _at_names(inside / inside.sum(-1, keepdim=True), names, asked)
    astray = -((gaze.mean(1) * shares).sum(-1) * sure).sum()
    return there.sum() / told.sum().clamp(min=1) + (2 * off + 0.5 * where).sum() / count, astray / count


@torch.no_grad()
def placed(found: Tensor, names: Tensor, asked: Asked, table: ThingTable, blind: int = 0) -> Tensor:
    """How often the look head tells the half, left or right, in which a named thing lies."""
    box = _at_names(table.box, names, asked)
    off = (box[..., 0] + box[..., 2]) / 2 - 0.5
    sure = (names > 0) & asked.valid[..., None] & _at_names(table.single, names, asked) & (off.abs() >= TRAINING.half)
    sure[:blind] = False
    shares = found[..., 3 : 3 + BINS].float().softmax(-1)
    right = (shares[..., BINS // 2 :].sum(-1) >= 0.5) == (off > 0)
    return (right & sure).sum() / sure.sum().clamp(min=1)


def _at_names(values: Tensor, names: Tensor, asked: Asked) -> Tensor:
    """What is known of each kind (n, KINDS, …), at the names' tokens (n, questions, width, …)."""
    kinds = torch.stack([asked.subject, asked.object], -1).flatten(1)
    side = (names - 1).clamp(min=0)
    more, rest = (1,) * (values.dim() - 2), values.shape[2:]
    both = values.gather(1, kinds.view(*kinds.shape, *more).expand(-1, -1, *rest)).unflatten(1, (names.shape[1], 2))
    return both.gather(2, side.view(*side.shape, *more).expand(-1, -1, -1, *rest))


def places_in(box: Tensor, places: int) -> Tensor:
    """(…, places): 1 at the grid's places that a box (…, 4) covers, at least at the one of its centre."""
    side = round(places**0.5)
    axis = (torch.arange(side, device=box.device) + 0.5) / side
    x, y = axis.repeat(side), axis.repeat_interleave(side)
    left, top, right, bottom = (each[..., None] for each in box.unbind(-1))
    half = 0.5 / side
    mx, my = (left + right) / 2, (top + bottom) / 2
    inside = (x > left) & (x < right) & (y > top) & (y < bottom)
    return (inside | (((x - mx).abs() <= half) & ((y - my).abs() <= half))).float()
