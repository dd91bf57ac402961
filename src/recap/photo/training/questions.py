# torch types its own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Questions about photographs with boxes, drawn by lot with their answers, as token ids.

Existence, place and relations. Directions that the boxes make clear are answered by rule, all other relations by the
teacher's probability; a relation with a thing that is not there is answered no.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from recap.models.llava import PAD
from recap.photo.things import things
from recap.photo.training.annotations import NOTHING
from recap.photo.training.geometry import MIRRORED, Teacher, clear_direction
from recap.photo.training.vocabulary import NAME, Templates, names, relations, topics, vocabulary

Tensor = torch.Tensor
DIRECTIONS = {"left_of": (0, -1), "right_of": (0, 1), "above": (1, -1), "below": (1, 1)}
"""axis and sign of the relations that are answered by rule"""
HALVES = {"left_half": (0, -1), "right_half": (0, 1), "top_half": (1, -1), "bottom_half": (1, 1)}
KINDS = len(things())


@dataclass(frozen=True)
class Clarity:
    """What may be asked about."""

    area: float = 0.003
    """the least share of the picture that a thing fills"""
    gap: float = 0.06
    """how far apart two centres are along an axis for a rule to speak"""
    half: float = 0.06
    """how far a centre is from the middle line"""
    rival: float = 0.5
    """the second largest thing of a kind is at most so large, of the largest, for "the dog" to mean one"""


TRAINING, MEASURING = Clarity(), Clarity(0.01, 0.1, 0.1, 0.4)


@dataclass(frozen=True)
class ThingTable:
    """What is in each picture, by class."""

    box: Tensor
    """(n, KINDS, 4) of the largest"""
    area: Tensor
    present: Tensor
    single: Tensor
    """present, and clearly the one that is meant"""
    absent: Tensor


def thing_table(kind: Tensor, corners: Tensor, seen: Tensor, clarity: Clarity) -> ThingTable:
    """From boxes (n, most, …), as they are seen."""
    n, most = kind.shape
    area = (corners[..., 2] - corners[..., 0]) * (corners[..., 3] - corners[..., 1])
    there = kind != NOTHING
    at = kind.clamp(min=0)
    score = area * (there & (seen >= 0.4))
    best = score.new_zeros(n, KINDS).scatter_reduce_(1, at, score, "amax")
    place = torch.arange(most, device=kind.device, dtype=score.dtype).expand(n, -1)
    is_best = (score > 0) & (score == best.gather(1, at))
    first = torch.full_like(best, most).scatter_reduce_(1, at, torch.where(is_best, place, most), "amin")
    rest = score * (place != first.gather(1, at))
    second = score.new_zeros(n, KINDS).scatter_reduce_(1, at, rest, "amax")
    trace = score.new_zeros(n, KINDS).scatter_reduce_(1, at, area * there, "amax")
    box = corners.gather(1, first.long().clamp(max=most - 1)[..., None].expand(-1, -1, 4))
    present = best >= clarity.area
    return ThingTable(box, best, present, present & (second <= clarity.rival * best), trace <= 0)


def thing_frequencies(kind: Tensor) -> tuple[Tensor, Tensor]:
    """How often each thing is in a picture (KINDS,), and how often beside each other thing (KINDS, KINDS)."""
    # One column more, for places without a box.
    there = torch.zeros(len(kind), KINDS + 1, device=kind.device)
    there = there.scatter_(1, torch.where(kind == NOTHING, KINDS, kind), 1.0)[:, :-1]
    together = (there.T @ there) / there.sum(0).clamp(min=1)[:, None]
    return there.mean(0), together.fill_diagonal_(0)


@dataclass(frozen=True)
class Asked:
    """Questions before they are worded. All (n, questions)."""

    topic: Tensor
    subject: Tensor
    object: Tensor
    yes: Tensor
    """how likely the answer is yes, 0 to 1"""
    valid: Tensor

    def cut(self, columns: slice) -> Asked:
        """Some of the questions."""
        return Asked(*(getattr(self, name)[:, columns] for name in self.__dataclass_fields__))


def join(parts: list[Asked]) -> Asked:
    """Side by side."""
    return Asked(*(torch.cat([getattr(part, name) for part in parts], 1) for name in Asked.__dataclass_fields__))


class QuestionSampler:
    """Draws questions about pictures."""

    def __init__(
        self, teacher: Teacher, known: dict[str, int], together: Tensor, frequency: Tensor, generator: torch.Generator,
        clarity: Clarity = TRAINING,
    ) -> None:  # fmt: skip
        self.teacher, self.generator, self.clarity = teacher, generator, clarity
        self.device = together.device
        self.weight = (frequency + 1e-4) ** -0.35
        """rarer things are asked about more often"""
        self.together = together
        self.topic_of = {name: place for place, name in enumerate(topics())}
        asked = {name: place for name, place in known.items() if name in relations()}
        self.asked_topics = self._to([self.topic_of[name] for name in asked])
        """the teacher's relations, as topics"""
        self.teacher_index = self._to([*asked.values()])
        axis = [DIRECTIONS.get(name, (-1, 0)) for name in asked]
        self.axis, self.sign = self._to([a for a, _ in axis]), self._to([s for _, s in axis])
        self.names = [*asked]
        halves = [HALVES[name] for name in HALVES]
        self.half_topics = self._to([self.topic_of[name] for name in HALVES])
        self.half_axis, self.half_sign = self._to([a for a, _ in halves]), self._to([s for _, s in halves])

    def _to(self, values: list[int]) -> Tensor:
        return torch.tensor(values, device=self.device)

    def _chance(self, *shape: int) -> Tensor:
        return torch.rand(*shape, generator=self.generator, device=self.device)

    def _pick(self, weight: Tensor, count: int) -> tuple[Tensor, Tensor]:
        """`count` draws per row of (n, choices), and whether there was a choice."""
        any_ = weight.sum(-1) > 0
        safe = torch.where(any_[:, None], weight, torch.ones_like(weight))
        drawn = torch.multinomial(safe, count, replacement=True, generator=self.generator)
        return drawn, any_[:, None].expand(-1, count)

    def absentees(self, table: ThingTable) -> Tensor:
        """(n, KINDS): how much each absent thing is worth asking for: by lot, and as it goes with what is there."""
        likely = table.present.float() @ self.together
        likely = likely / likely.sum(-1, keepdim=True).clamp(min=1e-6)
        lot = self.weight * 0 + 1 / KINDS
        return (0.35 * lot + 0.65 * likely) * table.absent

    def existence(self, table: ThingTable, count: int) -> Asked:
        """Is there a …?"""
        there, any_there = self._pick(table.present * self.weight, count)
        gone, any_gone = self._pick(self.absentees(table), count)
        yes = self._chance(*there.shape) < 0.5
        topic = torch.full_like(there, self.topic_of["exists"])
        kind = torch.where(yes, there, gone)
        return Asked(topic, kind, kind, yes.float(), torch.where(yes, any_there, any_gone))

    def halves(self, table: ThingTable, count: int) -> Asked:
        """Is it in the left half?"""
        kind, any_ = self._pick(table.single * self.weight, count)
        box = table.box.gather(1, kind[..., None].expand(-1, -1, 4))
        which = torch.randint(len(self.half_topics), kind.shape, generator=self.generator, device=self.device)
        axis = self.half_axis[which]
        middle = (box[..., :2] + box[..., 2:]) / 2 - 0.5
        off = middle.gather(2, axis[..., None])[..., 0]
        yes = (off.sign() == self.half_sign[which]).float()
        return Asked(self.half_topics[which], kind, kind, yes, any_ & (off.abs() >= self.clarity.half))

    def pairs(self, table: ThingTable, count: int) -> tuple[Tensor, Tensor, Tensor]:
        """Ordered pairs of two kinds of single things."""
        weight = table.single * self.weight
        first, ok = self._pick(weight, count)
        others = weight[:, None].expand(-1, count, -1).scatter(2, first[..., None], 0.0)
        second, ok_too = self._pick(others.flatten(0, 1), 1)
        return first, second.view_as(first), ok & ok_too.view_as(ok)

    def relations(self, table: ThingTable, count: int, share: Tensor, tries: int = 4, absent: float = 0.12) -> Asked:
        """Relations of pairs. `share` (the teacher's relations) is how often each is asked."""
        n = len(table.area)
        first, second, ok = self.pairs(table, count * tries)
        which = torch.multinomial(share, max(1, n * count * tries), replacement=True, generator=self.generator)
        which = which[: n * count * tries].view(n, count * tries)
        a, b = (table.box.gather(1, each[..., None].expand(-1, -1, 4)) for each in (first, second))
        said = self.teacher(
            self.teacher_index[which].flatten(), torch.stack([first, second], -1).flatten(0, 1),
            torch.stack([a, b], 2).flatten(0, 1),
        ).view(n, count * tries)  # fmt: skip
        yes = torch.sigmoid(said).clamp(0.03, 0.97)
        for axis in (0, 1):
            way = clear_direction(a, b, axis, self.clarity.gap)
            ruled = (self.axis[which] == axis) & (way != 0)
            yes = torch.where(ruled, (way == self.sign[which]).float(), yes)
        # Of several tries, the one that is nearest to the answer that is wanted: as many yes as no.
        wanted = (self._chance(n, count, 1) < 0.5).float()
        off = (yes - wanted.expand(-1, -1, tries).flatten(1)).abs() + (~ok) * 2
        best = off.view(n, count, tries).argmin(-1, keepdim=True)

        def kept(x: Tensor) -> Tensor:
            return x.view(n, count, tries).gather(2, best)[..., 0]

        first, second, which, yes, ok = (kept(each) for each in (first, second, which, yes, ok))
        gone, any_gone = self._pick(self.absentees(table), count)
        there, any_there = self._pick(table.present * self.weight, count)
        lot = self._chance(n, count)
        swap = (lot < absent) & any_gone & any_there
        side = lot < absent / 2
        first = torch.where(swap, torch.where(side, gone, there), first)
        second = torch.where(swap, torch.where(side, there, gone), second)
        return Asked(self.asked_topics[which], first, second, torch.where(swap, torch.zeros_like(yes), yes), ok | swap)


@dataclass(frozen=True)
class Worded:
    """Questions as tokens, padded at the end."""

    ids: Tensor
    """(n, questions, width)"""
    length: Tensor
    """(n, questions)"""
    names: Tensor
    """(n, questions, width): 1 where the subject's name ends, 2 where the object's, 0 elsewhere"""


class Wording:
    """Puts questions into words."""

    def __init__(self, table: Templates, device: torch.device, others: float = 0.15) -> None:
        known = names()
        self.others = others
        self.ids = torch.from_numpy(table.ids).to(device)
        chosen = torch.zeros(len(topics()), len(table.topic))
        chosen[torch.from_numpy(table.topic), torch.arange(len(table.topic))] = torch.from_numpy(table.weight).float()
        self.chosen = chosen.to(device)
        self.name_ids, self.article, self.first, self.count = (
            torch.from_numpy(x).to(device) for x in (known.ids, known.article, known.first, known.count)
        )
        self.pad = vocabulary()[PAD]

    def name(self, kind: Tensor, generator: torch.Generator) -> Tensor:
        """Rows of names: mostly a thing's own."""
        lot = torch.rand(2, *kind.shape, generator=generator, device=kind.device)
        other = (lot[1] * self.count[kind]).long()
        return self.first[kind] + torch.where(lot[0] < self.others, other, torch.zeros_like(other))

    def words(self, asked: Asked, generator: torch.Generator) -> Worded:
        """The questions as token ids."""
        n, questions = asked.topic.shape
        way = torch.multinomial(self.chosen[asked.topic.flatten()], 1, generator=generator).view(n, questions)
        ids = self.ids[way]
        subject, obj = self.name(asked.subject, generator), self.name(asked.object, generator)
        names = torch.zeros_like(ids)
        for side, row in ((0, subject), (1, obj)):
            last = (self.name_ids[row] != self.pad).sum(-1, keepdim=True)
            for word in range(NAME):
                gap = ids == -(1 + side * NAME + word)
                names = torch.where(gap & (last == word + 1), side + 1, names)
                ids = torch.where(gap, self.name_ids[row, word][..., None], ids)
        ids = torch.where(ids == -5, self.article[subject][..., None], ids)
        empty = ids == self.pad
        order = torch.sort(empty.to(torch.uint8), dim=-1, stable=True).indices
        return Worded(ids.gather(2, order), (~empty).sum(-1), names.gather(2, order))


def mirrored_topics(device: torch.device) -> Tensor:
    """(topics,): what a topic becomes in the mirror image."""
    place = {name: at for at, name in enumerate(topics())}
    swap = MIRRORED | {"left_half": "right_half", "right_half": "left_half"}
    return torch.tensor([place[swap.get(name, name)] for name in topics()], device=device)
