# torch types its own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""What the small models are trained on: a pool of painted scenes, and questions about them with their true answers."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch

from recap.models.llava import NO as NO_WORD
from recap.models.llava import PAD
from recap.models.llava import YES as YES_WORD
from recap.world.objects import things
from recap.world.sample import SceneStyle, sample
from recap.world.scene import NOTHING, PAIRS, Scenes
from recap.world.training.batched import Painter
from recap.world.training.vocabulary import encode, vocabulary
from recap.world.truth import NO, RELATIONS, YES, truth

Tensor = torch.Tensor

OTHER_PAIRS = 0.35
"""how often a pair with a third thing is asked about, beside the pair itself"""
CHUNK = 4096


@dataclass(frozen=True)
class ScenePool:
    """Painted scenes on a device."""

    pixels: Tensor
    """(n, 3, size, size) bytes"""
    seen: Tensor
    """(n, PLACES, cells, cells) bytes"""
    thing: Tensor
    """(n, PLACES)"""
    truth: Tensor
    """(n, pairs · relations): YES, NO or UNCLEAR"""

    def __len__(self) -> int:
        return len(self.pixels)


def make_pool(
    count: int, first_seed: int, device: Any, style: SceneStyle, workers: int, say: Callable[[str], None]
) -> ScenePool:
    """Scenes by lot in worker processes, painted here. The same seed gives the same pool, however many workers."""
    painter = Painter(device, style.backgrounds)
    starts = range(0, count, CHUNK)
    sizes = [min(CHUNK, count - start) for start in starts]
    parts: list[tuple[Tensor, ...]] = []
    with ProcessPoolExecutor(workers) as workers_:
        for done, (scenes, found) in enumerate(workers_.map(partial(_chunk, style, first_seed), starts, sizes)):
            known = (torch.from_numpy(each).to(device) for each in (scenes.thing, found))
            parts.append((*painter.paint(scenes), *known))
            if done % 32 == 31:
                say(f"painted {CHUNK * (done + 1):,} scenes")
    return ScenePool(*map(torch.cat, zip(*parts, strict=True)))


def _chunk(style: SceneStyle, first_seed: int, start: int, count: int) -> tuple[Scenes, np.ndarray]:
    scenes = sample(count, (first_seed, start), style)
    found = [truth(scenes, relation, i, j) for i, j in PAIRS for relation in RELATIONS]
    return scenes, np.stack(found, 1).astype(np.int8)


@dataclass(frozen=True)
class QuestionBatch:
    """Questions about scenes. Arrays are (n, questions, …)."""

    ids: Tensor
    """question, words before the answer, the answer, padding"""
    length: Tensor
    """how many tokens stand before the answer"""
    answer: Tensor
    """token id of the true answer"""
    relation: Tensor


class QuestionSampler:
    """Draws questions: every relation alike, `yes` as often as wished, in many wordings."""

    def __init__(self, groups: dict[str, float], pool: ScenePool, yes_share: float, generator: torch.Generator) -> None:
        self.pool, self.yes_share, self.generator = pool, yes_share, generator
        encoded = encode(groups)
        chosen = np.zeros((len(RELATIONS), len(encoded.relation)), np.float32)
        chosen[encoded.relation, np.arange(len(encoded.relation))] = encoded.weight
        table = {name: getattr(encoded, name) for name in ("ids", "length", "subject", "object")}
        table |= {"chosen": chosen, "names": np.array([vocabulary()[name] for name in things()])}
        self._table = {name: torch.from_numpy(value).to(pool.pixels.device) for name, value in table.items()}
        self._table["weight"] = self._weights()

    def _weights(self) -> Tensor:
        """(2, cells): how much a cell with that answer counts: rare answers are asked as often as common ones."""
        cells = self.pool.truth.view(len(self.pool), len(PAIRS), len(RELATIONS))
        pair = torch.tensor([1.0 if max(p) < 2 else OTHER_PAIRS for p in PAIRS], device=cells.device)[:, None]
        often = [((cells == answer).float().mean(0) * pair).sum(0).clamp(min=1e-6) for answer in (NO, YES)]
        return torch.stack([(pair / each[None]).flatten() for each in often])

    def sample(self, rows: Tensor, questions: int) -> QuestionBatch:
        """So many questions about each of these scenes."""
        pool, table = self.pool, self._table
        n = len(rows)
        labels = pool.truth[rows].long()
        drawn = torch.rand((n, questions), generator=self.generator, device=labels.device)
        wished = (drawn < self.yes_share).long()
        weight = table["weight"][wished] * (labels[:, None] == wished[..., None])
        known = (labels >= 0)[:, None].expand_as(weight)
        weight = torch.where(weight.sum(-1, keepdim=True) == 0, known.float(), weight).flatten(0, 1)
        cell = torch.multinomial(weight, 1, generator=self.generator).view(n, questions)
        answer = torch.gather(labels, 1, cell)
        pair, relation = cell // len(RELATIONS), cell % len(RELATIONS)
        way = torch.multinomial(table["chosen"][relation.flatten()], 1, generator=self.generator).view(n, questions)
        ids = table["ids"][way].clone()
        places = torch.tensor(PAIRS, device=ids.device)[pair]
        for gap, side in (("subject", 0), ("object", 1)):
            thing = torch.gather(pool.thing[rows], 1, places[..., side])
            word = table["names"][thing.clamp(min=0)][..., None].expand(-1, -1, 2)
            ids.scatter_(2, table[gap][way], word)
        words = vocabulary()
        said = torch.where(answer == YES, words[YES_WORD], words[NO_WORD])
        length = table["length"][way]
        wide = torch.nn.functional.pad(ids, (0, 1), value=words[PAD]).scatter_(2, length[..., None], said[..., None])
        return QuestionBatch(wide, length, said, relation)


def cell_targets(pool: ScenePool, rows: Tensor) -> Tensor:
    """(n, cells, things): whether a thing shows in a cell of the picture. Only training uses it."""
    thing = pool.thing[rows][..., None]
    seen = (pool.seen[rows] > 30).float().flatten(2) * (thing != NOTHING)
    found = torch.zeros(len(rows), len(things()), seen.shape[2], device=seen.device)
    return found.scatter_reduce_(1, thing.clamp(min=0).expand_as(seen), seen, "amax").transpose(1, 2)
