# torch types its own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""What is trained on and what is measured: photographs with their boxes, people's statements, the teacher."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from recap.photo.things import number_of
from recap.photo.training.annotations import Boxes, PersonStatement, for_training, is_held_out, left_out
from recap.photo.training.evaluate import Examination, examine_boxes, examine_statements
from recap.photo.training.geometry import Teacher, with_boxes
from recap.photo.training.photographs import Photographs
from recap.photo.training.plan import RELATED, SHARES, STATEMENTS, Plan
from recap.photo.training.questions import (
    DIRECTIONS,
    MEASURING,
    Asked,
    QuestionSampler,
    mirrored_topics,
    thing_frequencies,
    thing_table,
)
from recap.photo.training.vocabulary import topics

Tensor = torch.Tensor


class Lessons:
    """Draws pictures and questions. Nothing about a picture that is left out or held out is ever drawn."""

    def __init__(
        self, plan: Plan, photos: Photographs, boxes: Boxes, statements: dict[str, list[PersonStatement]],
        generator: torch.Generator, say: Callable[[str], None],
    ) -> None:  # fmt: skip
        self.plan, self.photos, self.statements, self.say, self.generator = plan, photos, statements, say, generator
        self.device = photos.pixels.device
        self.mine = for_training(statements)
        counted = [said.relation for said in self.mine]
        known = sorted({name for name in set(counted) if counted.count(name) >= 30} | set(DIRECTIONS))
        self.known = {name: place for place, name in enumerate(known)}
        self.teacher, self.teacher_dev = self._teacher(boxes)
        boxes = boxes.of(photos.ids)
        self.kind, self.corners = (torch.from_numpy(x).to(self.device) for x in (boxes.kind, boxes.corners))
        banned = left_out(statements)
        gone = np.array([int(image) in banned for image in boxes.ids], bool)
        held = np.array([is_held_out(int(image)) for image in boxes.ids], bool)
        self.may_train, self.may_measure = ~held & ~gone, held & ~gone
        whole = thing_table(self.kind, self.corners, torch.ones_like(self.corners[..., 0]), MEASURING)
        self.related = (whole.single.sum(1) >= 2).cpu().numpy()
        may_train = torch.from_numpy(self.may_train).to(self.device)
        self.frequency, self.together = thing_frequencies(self.kind[may_train])
        self.sampler = QuestionSampler(self.teacher, self.known, self.together, self.frequency, generator)
        self.share = torch.tensor([SHARES.get(name, 1 / 6) for name in self.sampler.names], device=self.device)
        self.mirror = mirrored_topics(self.device)
        self._admitted = -1
        self.admit()

    def _teacher(self, boxes: Boxes) -> tuple[Teacher, dict[str, float]]:
        """The teacher, and how often it is right on VSR dev with true boxes."""
        torch.manual_seed(self.plan.seed)
        teacher = Teacher(self.known).to(self.device)
        examples, _ = with_boxes(self.mine, boxes, self.known)
        if len(examples.label):
            teacher.fit(examples, self.plan.teacher_steps, seed=self.plan.seed)
        dev, which = with_boxes(self.statements["dev"], boxes, self.known)
        if not len(which):
            return teacher, {}
        said = teacher(*(x.to(self.device) for x in (dev.relation, dev.kinds, dev.corners))).cpu()
        right = ((said >= 0) == (dev.label > 0.5)).numpy()
        covered = np.array([self.statements["dev"][place].covered for place in which])
        return teacher, {"all": float(right.mean()), "inside the graph": float(right[covered].mean())}

    def admit(self) -> bool:
        """Take in the pictures that have come since the last time; whether there were any."""
        there = self.photos.there.copy()
        if there.sum() == self._admitted:
            return False
        self._admitted = int(there.sum())

        def rows(chosen: np.ndarray) -> Tensor:
            return torch.from_numpy(np.flatnonzero(chosen)).to(self.device)

        self.rows = rows(there & self.may_train)
        self.related_rows = rows(there & self.may_train & self.related)
        row_of = {int(image): row for row, image in enumerate(self.photos.ids) if there[row]}
        self._take_statements(row_of)
        sampler = QuestionSampler(
            self.teacher,
            self.known,
            self.together,
            self.frequency,
            torch.Generator(self.device).manual_seed(1),
            MEASURING,
        )
        kept = rows(there & self.may_measure)[: self.plan.held_out]
        self.exams: dict[str, Examination] = {
            "held-out": examine_boxes(sampler, kept, self.kind[kept], self.corners[kept]),
            "VSR dev": examine_statements(self.statements["dev"], row_of, self.device),
            "VSR test": examine_statements(self.statements["test"], row_of, self.device),
        }
        self.say(
            f"{len(self.rows):,} photographs to train on ({len(self.related_rows):,} with things to relate), "
            f"{len(kept):,} held out, {len(self.mine):,} statements, {len(self.known)} relations"
        )
        return True

    def _take_statements(self, row_of: dict[int, int]) -> None:
        """Statements by picture: topic, subject, object, answer, and whether there is one."""
        by_row: dict[int, list[tuple[int, int, int, int, int]]] = {}
        kinds, place = number_of(), {name: at for at, name in enumerate(topics())}
        for said in self.mine:
            if said.image in row_of and said.relation in place:
                told = (place[said.relation], kinds[said.subject], kinds[said.object], int(said.label), 1)
                by_row.setdefault(row_of[said.image], []).append(told)
        packed = [
            (row, said[i : i + STATEMENTS]) for row, said in by_row.items() for i in range(0, len(said), STATEMENTS)
        ]
        table = np.zeros((max(1, len(packed)), STATEMENTS, 5), np.int64)
        for at, (_, said) in enumerate(packed):
            table[at, : len(said)] = said
        self.people_rows = torch.tensor([row for row, _ in packed], dtype=torch.long, device=self.device)
        self.people = torch.from_numpy(table).to(self.device)

    def draw(self, progress: float) -> tuple[Tensor, Tensor]:
        """Rows of a batch, and which people's statements are asked about the last of them."""
        n = self.plan.batch
        rows = self._some(self.rows, n)
        if progress >= self.plan.lessons and len(self.related_rows):
            rows[: int(n * RELATED)] = self._some(self.related_rows, int(n * RELATED))
        share = 0.0 if progress < self.plan.statements_from else 0.08 if progress < self.plan.last_part else 0.22
        told = int(n * share) if len(self.people_rows) else 0
        which = torch.randint(max(1, len(self.people_rows)), (told,), generator=self.generator, device=self.device)
        if told:
            rows[n - told :] = self.people_rows[which]
        return rows, which

    def _some(self, rows: Tensor, count: int) -> Tensor:
        return rows[torch.randint(len(rows), (count,), generator=self.generator, device=self.device)]

    def with_people(self, asked: Asked, people: Tensor, mirrored: Tensor) -> Asked:
        """The last pictures with their statements instead of their first relations."""
        n, told = len(asked.topic), len(people)
        count = min(STATEMENTS, asked.topic.shape[1])
        topic, subject, obj, yes, there = self.people[people][:, :count].unbind(-1)
        topic = torch.where(mirrored[n - told :, None], self.mirror[topic], topic)
        there = there.bool()
        columns = {"topic": topic, "subject": subject, "object": obj, "yes": 0.04 + 0.92 * yes.float(), "valid": there}
        made: dict[str, Tensor] = {}
        for name, value in columns.items():
            old = getattr(asked, name).clone()
            old[n - told :, :count] = torch.where(there, value, old[n - told :, :count])
            made[name] = old
        return Asked(**made)
