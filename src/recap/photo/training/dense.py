# torch types its own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""The dense lesson: which things cover each place of the grid, and where their centres are.

It says far more about a photograph than yes and no. Its heads read what the decoder is given, and are thrown away.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812

from recap.models.llava import PAD
from recap.photo.things import things
from recap.photo.tower import GRID
from recap.photo.training.annotations import NOTHING
from recap.photo.training.vocabulary import names, vocabulary

Tensor = torch.Tensor
KINDS = len(things())


class DenseHeads(torch.nn.Module):
    """Scores of every class at every place, for cover and for centre.

    A class is told by the decoder's own embedding of its name. So what is seen and what is called have to be alike
    before any question is asked, and attention that takes a name to its thing is learned for all classes at once.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.cover, self.centre = (torch.nn.Linear(width, width, bias=False) for _ in range(2))
        self.bias = torch.nn.Parameter(torch.full((2, KINDS), -4.0))
        for head in (self.cover, self.centre):
            torch.nn.init.eye_(head.weight)
        ids = torch.from_numpy(names().ids[names().first])
        self.ids: Tensor
        self.used: Tensor
        self.register_buffer("ids", ids, persistent=False)
        self.register_buffer("used", (ids != vocabulary()[PAD]).float(), persistent=False)

    def forward(self, tokens: Tensor, embedding: Tensor) -> tuple[Tensor, Tensor]:
        """(n, places, KINDS) twice, from what the decoder is given and its words' embedding."""
        called = (embedding[self.ids] * self.used[..., None]).sum(1) / self.used.sum(1, keepdim=True)
        called = F.layer_norm(called, called.shape[-1:]) * called.shape[-1] ** -0.5
        x = self.norm(tokens)
        return self.cover(x) @ called.T + self.bias[0], self.centre(x) @ called.T + self.bias[1]


@torch.no_grad()
def dense_targets(kind: Tensor, corners: Tensor, seen: Tensor) -> tuple[Tensor, Tensor]:
    """Cover (0 or 1) and centre (a bell around it, 1 at its place), both (n, places, KINDS)."""
    n = len(kind)
    used = (kind != NOTHING) & (seen > 0.25)
    axis = (torch.arange(GRID, device=kind.device) + 0.5) / GRID
    half = 0.5 / GRID
    x, y = axis.repeat(GRID), axis.repeat_interleave(GRID)
    left, top, right, bottom = (each[..., None] for each in corners.unbind(-1))
    inside = (x + half * 0.5 > left) & (x - half * 0.5 < right) & (y + half * 0.5 > top) & (y - half * 0.5 < bottom)
    inside = (inside & used[..., None]).float()
    spread_x, spread_y = ((right - left) / 6).clamp(min=0.6 / GRID), ((bottom - top) / 6).clamp(min=0.6 / GRID)
    # The centre's own cell counts 1, wherever in it the centre lies.
    mx = ((left + right) / 2 * GRID).floor().clamp(max=GRID - 1) / GRID + half
    my = ((top + bottom) / 2 * GRID).floor().clamp(max=GRID - 1) / GRID + half
    bell = torch.exp(-0.5 * (((x - mx) / spread_x) ** 2 + ((y - my) / spread_y) ** 2)) * used[..., None]
    at = kind.clamp(min=0)[..., None].expand(-1, -1, GRID * GRID)
    empty = torch.zeros(n, KINDS, GRID * GRID, device=kind.device)
    cover = empty.scatter_reduce(1, at, inside, "amax")
    centre = empty.scatter_reduce(1, at, bell, "amax")
    return cover.transpose(1, 2), centre.transpose(1, 2)


def dense_loss(scores: tuple[Tensor, Tensor], targets: tuple[Tensor, Tensor]) -> Tensor:
    """Focal losses of both, per thing in the picture."""
    cover, centre = scores[0].float(), scores[1].float()
    p = torch.sigmoid(cover)
    plain = F.binary_cross_entropy_with_logits(cover, targets[0], reduction="none")
    wrong = torch.where(targets[0] > 0.5, 1 - p, p)
    first = (plain * wrong**2).sum() / targets[0].sum().clamp(min=1)
    q = torch.sigmoid(centre)
    peak = targets[1] > 0.99
    hit = -F.logsigmoid(centre) * (1 - q) ** 2 * peak
    miss = -F.logsigmoid(-centre) * q**2 * (1 - targets[1]) ** 4 * ~peak
    second = (hit + miss).sum() / peak.sum().clamp(min=1)
    return first + 0.3 * second
