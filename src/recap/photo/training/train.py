# torch and transformers type their own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""The training: lessons first (what is there, in which half), then relations, people's statements last."""

from __future__ import annotations

import csv
import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from recap.photo.things import things
from recap.photo.training.annotations import Boxes, PersonStatement, for_training, is_held_out, left_out
from recap.photo.training.augment import draw_frames, frame_boxes, show
from recap.photo.training.checkpoint import build, read_weights, write_checkpoint
from recap.photo.training.dense import dense_loss, dense_targets
from recap.photo.training.evaluate import Examination, by_family, examine_boxes, examine_statements, margins
from recap.photo.training.geometry import Teacher, with_boxes
from recap.photo.training.learner import LONG, MEDIUM, SHORT, Layout, Learner
from recap.photo.training.photographs import Photographs
from recap.photo.training.questions import MEASURING, Asked, QuestionSampler, Wording, join, mirrored_topics, thing_table
from recap.photo.training.vocabulary import EOS, NO, YES, templates, topics, vocabulary

Tensor = torch.Tensor
EVERY, WARM = 50, 10
RELATED = 0.7
"""how many pictures of a batch have two things to relate for sure, once relations are asked"""
STATEMENTS = 4
"""people's statements about one picture in one step, at most"""
SHARES = {
    "left_of": 5, "right_of": 5, "above": 3.5, "below": 3.5, "on": 2.5, "inside": 2, "contains": 2, "in_front_of": 2.5,
    "behind": 2.5, "near": 1, "far": 1, "touching": 1,
}  # fmt: skip
"""how often each relation is asked; any other that people's statements teach, a sixth"""


@dataclass(frozen=True)
class Plan:
    """What is fixed before training starts."""

    backbone: str = "efficientnet_lite2"
    layers: int = 6
    width: int = 384
    inner: int = 1024
    batch: int = 128
    rate: float = 8e-4
    backbone_rate: float = 2.5e-4
    warmup: int = 300
    blind: int = 8
    """pictures of a batch that are asked about without being shown, so that a bare question has an answer"""
    lessons: float = 0.2
    """share of the training in which existence and halves come first"""
    statements_from: float = 0.35
    """from here on some pictures of a batch come with people's statements, in the last part more"""
    last_part: float = 0.8
    crop: float = 0.6
    """how many pictures are shown in another frame"""
    decay: float = 0.05
    average: float = 0.999
    no_share: float = 1.0
    """how many of the questions whose answer is no are kept: fewer make a model that says yes"""
    held_out: int = 2400
    teacher_steps: int = 700
    seed: int = 0


class Training:
    """One model in training."""

    def __init__(
        self, plan: Plan, photos: Photographs, boxes: Boxes, statements: dict[str, list[PersonStatement]],
        weights: Path | None, out: Path, device: Any, compiled: bool, say: Callable[[str], None] = print,
    ) -> None:  # fmt: skip
        self.plan, self.photos, self.out, self.say = plan, photos, out, say
        self.device = torch.device(device)
        self.generator = torch.Generator(self.device).manual_seed(plan.seed)
        self.learner = Learner(build(plan.backbone, weights, plan.seed, plan.layers, plan.width, plan.inner))
        self.learner.to(self.device)
        if self.device.type == "cuda":
            self.learner.to(memory_format=torch.channels_last)
        self.average = Learner(build(plan.backbone, None, plan.seed, plan.layers, plan.width, plan.inner)).to(self.device)
        if self.device.type == "cuda":
            self.average.to(memory_format=torch.channels_last)
        self.average.load_state_dict(self.learner.state_dict())
        self.average.eval()
        if compiled:
            self.learner.compile()
        self._data(boxes, statements)
        self._optimizer()
        self._followed: list[list[Tensor]] = []
        self.step = 0
        self.seconds = 0.0
        self.curve: list[dict[str, float]] = []
        self.best: dict[str, float] = {"accuracy": 0.0}

    # What is trained on, and what is measured.

    def _data(self, boxes: Boxes, statements: dict[str, list[PersonStatement]]) -> None:
        row_of = self.photos.row_of()
        at = np.array([row for row, image in enumerate(boxes.ids) if int(image) in row_of])
        self.kind, self.corners = (torch.from_numpy(x[at]).to(self.device) for x in (boxes.kind, boxes.corners))
        place = np.array([row_of[int(image)] for image in boxes.ids[at]])
        self.pixel_row = torch.from_numpy(place).to(self.device)
        banned = left_out(statements)
        held = np.array([is_held_out(int(image)) for image in boxes.ids[at]])
        gone = np.array([int(image) in banned for image in boxes.ids[at]])
        self.rows = torch.from_numpy(np.flatnonzero(~held & ~gone)).to(self.device)
        mine = for_training(statements)
        counted: dict[str, int] = {}
        for said in mine:
            counted[said.relation] = counted.get(said.relation, 0) + 1
        known = sorted({name for name, count in counted.items() if count >= 30} | {"left_of", "right_of", "above", "below"})
        self.known = {name: place for place, name in enumerate(known)}
        self._teach(mine, boxes, statements)
        whole_boxes = thing_table(self.kind, self.corners, torch.ones_like(self.corners[..., 0]), MEASURING)
        related = (whole_boxes.single.sum(1) >= 2)[self.rows]
        self.related_rows = self.rows[related] if related.any() else self.rows
        there = torch.zeros(len(self.rows), len(things()), device=self.device)
        kinds = self.kind[self.rows]
        there.scatter_(1, kinds.clamp(min=0), (kinds >= 0).float())
        frequency = there.mean(0)
        together = (there.T @ there) / there.sum(0).clamp(min=1)[:, None]
        together.fill_diagonal_(0)
        self.sampler = QuestionSampler(self.teacher, self.known, together, frequency, self.generator)
        self.share = torch.tensor([SHARES.get(name, 1 / 6) for name in self.sampler.names], device=self.device)
        usual = {"plain": 0.75, "phrases": 0.25}
        self.wordings = {
            SHORT: Wording(templates(usual, SHORT.width - 1), self.device),
            MEDIUM: Wording(templates({"paraphrases": 0.5, "wrappers": 0.5}, MEDIUM.width - 1), self.device),
            LONG: Wording(templates({"constrained": 0.9, "paraphrases": 0.1}, LONG.width - 1), self.device),
        }
        self.mirror = mirrored_topics(self.device)
        self._people(mine, {int(image): row for row, image in enumerate(boxes.ids[at])})
        measure = QuestionSampler(
            self.teacher, self.known, together, frequency, torch.Generator(self.device).manual_seed(1), MEASURING
        )
        kept = torch.from_numpy(np.flatnonzero(held & ~gone)[: self.plan.held_out]).to(self.device)
        self.exams: dict[str, Examination] = {
            "held-out": examine_boxes(measure, self.pixel_row[kept], self.kind[kept], self.corners[kept]),
            "VSR dev": examine_statements(statements["dev"], row_of, self.device),
            "VSR test": examine_statements(statements["test"], row_of, self.device),
        }
        self.say(
            f"{len(self.rows):,} photographs to train on ({len(self.related_rows):,} of them with things to relate), {len(kept):,} held out, {len(mine):,} statements, "
            f"{len(self.known)} relations"
        )

    def _teach(self, mine: list[PersonStatement], boxes: Boxes, statements: dict[str, list[PersonStatement]]) -> None:
        torch.manual_seed(self.plan.seed)
        self.teacher = Teacher(self.known).to(self.device)
        examples, _ = with_boxes(mine, boxes, self.known)
        self.teacher.fit(examples, self.plan.teacher_steps, seed=self.plan.seed)
        dev, which = with_boxes(statements["dev"], boxes, self.known)
        self.teacher_dev: dict[str, float] = {}
        if not len(which):
            return
        said = self.teacher(*(x.to(self.device) for x in (dev.relation, dev.kinds, dev.corners))).cpu()
        right = ((said >= 0) == (dev.label > 0.5)).numpy()
        covered = np.array([statements["dev"][place].covered for place in which])
        self.teacher_dev = {"all": float(right.mean()), "inside the graph": float(right[covered].mean())}
        self.say(f"teacher, on VSR dev with true boxes: {_rates(self.teacher_dev)}")

    def _people(self, mine: list[PersonStatement], row_of: dict[int, int]) -> None:
        """Statements by picture: topic, subject, object, answer, and whether there is one."""
        from recap.photo.things import number_of

        by_row: dict[int, list[tuple[int, int, int, int, int]]] = {}
        kinds, place = number_of(), {name: at for at, name in enumerate(topics())}
        for said in mine:
            if said.image in row_of:
                told = (place[said.relation], kinds[said.subject], kinds[said.object], int(said.label), 1)
                by_row.setdefault(row_of[said.image], []).append(told)
        packed = [(row, said[i : i + STATEMENTS]) for row, said in by_row.items() for i in range(0, len(said), STATEMENTS)]
        table = np.zeros((max(1, len(packed)), STATEMENTS, 5), np.int64)
        for at, (_, said) in enumerate(packed):
            table[at, : len(said)] = said
        self.people_rows = torch.tensor([row for row, _ in packed], dtype=torch.long, device=self.device)
        self.people = torch.from_numpy(table).to(self.device)

    # One step.

    def _optimizer(self) -> None:
        groups: dict[tuple[bool, bool], list[Tensor]] = {}
        for name, weight in self.learner.named_parameters():
            key = ("vision_tower.backbone" in name, weight.dim() >= 2 and "place" not in name)
            groups.setdefault(key, []).append(weight)
        self.optimizer = torch.optim.AdamW(
            [
                {
                    "params": weights, "weight_decay": self.plan.decay if decays else 0.0,
                    "base": self.plan.backbone_rate if backbone else self.plan.rate,
                }
                for (backbone, decays), weights in groups.items()
            ],
            lr=1e-3, betas=(0.9, 0.98), fused=self.device.type == "cuda",
        )  # fmt: skip

    def _layout_of(self, progress: float) -> Layout:
        turn = self.step % 15
        if progress < self.plan.lessons * 0.6:
            return SHORT
        return LONG if turn == 14 else MEDIUM if turn in (4, 9) else SHORT

    def _counts(self, layout: Layout, progress: float) -> tuple[int, int, int]:
        """Questions on existence, on halves and on relations."""
        q = layout.questions
        if layout is LONG:
            return 0, 0, q
        early = progress < self.plan.lessons
        exist, half = (round(q * 0.5), round(q * 0.3)) if early else (round(q * 0.25), round(q * 0.1))
        return exist, half, q - exist - half

    def _batch_rows(self, progress: float) -> tuple[Tensor, Tensor]:
        """Rows of a batch, and at which of them, at the end, people's statements are asked: (rows, table index)."""
        n = self.plan.batch
        rows = self.rows[torch.randint(len(self.rows), (n,), generator=self.generator, device=self.device)]
        if progress >= self.plan.lessons:
            rich = self.related_rows
            drawn = torch.randint(len(rich), (int(n * RELATED),), generator=self.generator, device=self.device)
            rows[: len(drawn)] = rich[drawn]
        share = 0.0 if progress < self.plan.statements_from else 0.08 if progress < self.plan.last_part else 0.22
        told = int(n * share) if len(self.people_rows) else 0
        which = torch.randint(max(1, len(self.people_rows)), (told,), generator=self.generator, device=self.device)
        if told:
            rows[n - told :] = self.people_rows[which]
        return rows, which

    def train_step(self, progress: float) -> Tensor:
        """One step; the loss, its parts and the share of right answers."""
        plan, words = self.plan, vocabulary()
        layout = self._layout_of(progress)
        rows, people = self._batch_rows(progress)
        n, told = len(rows), len(people)
        smallest = torch.full((n,), 0.55, device=self.device)
        smallest[n - told :] = 0.88
        frames = draw_frames(n, smallest, plan.crop, self.generator, self.device)
        corners, seen = frame_boxes(self.corners[rows], frames)
        kind = self.kind[rows]
        table = thing_table(kind, corners, seen, self.sampler.clarity)
        exist, half, related = self._counts(layout, progress)
        parts = [self.sampler.relations(table, related, self.share)]
        parts += [self.sampler.halves(table, half)] if half else []
        parts += [self.sampler.existence(table, exist)] if exist else []
        asked = join(parts)
        if told:
            asked = self._with_people(asked, people, frames.mirrored, n, told)
        # What could not be asked, for want of two clear things, becomes a question of existence.
        spare = self.sampler.existence(table, layout.questions)
        asked = Asked(
            *(torch.where(asked.valid, getattr(asked, name), getattr(spare, name)) for name in Asked.__dataclass_fields__)
        )
        valid = asked.valid
        if plan.no_share < 1:
            lot = torch.rand(valid.shape, generator=self.generator, device=self.device)
            valid = valid & ((asked.yes > 0.5) | (lot < plan.no_share))
        ids, length = self.wordings[layout].words(asked, self.generator)
        ids = F.pad(ids, (0, 1))
        answer = torch.where(asked.yes > 0.5, words[YES], words[NO])
        pixels = show(self.photos.pixels[self.pixel_row[rows]], frames, self.generator)
        targets = dense_targets(kind, corners, seen)
        if self.device.type == "cuda":
            pixels = pixels.to(memory_format=torch.channels_last)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            scores, after, dense = self.learner(pixels, ids, length, answer, layout, plan.blind)
        log = F.log_softmax(scores, -1)
        each = -(asked.yes * log[..., words[YES]] + (1 - asked.yes) * log[..., words[NO]])
        loss = (each * valid).sum() / valid.sum().clamp(min=1)
        closing = F.cross_entropy(after.flatten(0, 1), torch.full_like(answer, words[EOS]).flatten())
        aid = dense_loss(dense, targets)
        weight = 1.0 if progress < plan.lessons else 0.5
        self.optimizer.zero_grad(set_to_none=True)
        (loss + 0.02 * closing + weight * aid).backward()
        torch.nn.utils.clip_grad_norm_(self.learner.parameters(), 1.0)
        for group in self.optimizer.param_groups:
            group["lr"] = group["base"] * self._rate(progress)
        self.optimizer.step()
        self._follow()
        right = ((scores[..., words[YES]] >= scores[..., words[NO]]) == (asked.yes > 0.5)) & valid
        right[: plan.blind] = False
        shown = valid[plan.blind :].sum().clamp(min=1)
        return torch.stack([loss.detach(), aid.detach(), right.sum() / shown])

    def _with_people(self, asked: Asked, people: Tensor, mirrored: Tensor, n: int, told: int) -> Asked:
        """The last `told` pictures with their statements instead of their first relations."""
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

    def _rate(self, progress: float) -> float:
        warm = min(1.0, (self.step + 1) / self.plan.warmup)
        return warm * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * min(1.0, progress))))

    @torch.no_grad()
    def _follow(self) -> None:
        """The running average of the weights: it is what is measured and kept."""
        if not self._followed:
            pairs = zip(self.average.state_dict().values(), self.learner.state_dict().values(), strict=True)
            self._followed = [*map(list, zip(*((a, b) for a, b in pairs if a.is_floating_point()), strict=True))]
        keep = min(self.plan.average, (self.step + 1) / (self.step + 20))
        torch._foreach_lerp_(self._followed[0], self._followed[1], 1 - keep)  # pyright: ignore[reportPrivateUsage]

    # The whole course.

    def run(self, minutes: float | None, steps: int | None, every: float = 60.0, most: int | None = None) -> None:
        """Until the time is up or the steps are done. Every so many seconds it is measured and saved.

        `most` stops earlier, as an interruption would.
        """
        begun = mark = time.monotonic()
        totals: list[Tensor] = []
        first = self.step
        self.learner.train()
        while True:
            progress = self.step / steps if steps else self.seconds / (60 * (minutes or 1))
            if progress >= 1 or (most is not None and self.step - first >= most):
                break
            totals.append(self._tried_step(progress) if self.step == first else self.train_step(progress))
            self.step += 1
            if self.step % 10 == 0 or self.step - first <= WARM:
                _wait(self.device)
            now = time.monotonic()
            if self.step - first > WARM:
                self.seconds += now - begun
            else:
                mark = now  # compiling does not count
            begun = now
            if len(totals) == EVERY:
                self._note(totals, progress)
                totals = []
            # Oftener towards the end, where one of the measured models is kept.
            if time.monotonic() - mark > (every if progress < self.plan.last_part else every / 2):
                self.measure(progress)
                begun = mark = time.monotonic()  # nor does measuring
        if totals:
            self._note(totals, 1.0)
        self.measure(1.0)

    def _tried_step(self, progress: float) -> Tensor:
        """The first step: where compiling fails on a machine, training goes on without it, slower."""
        try:
            return self.train_step(progress)
        except Exception as error:
            if not self.learner.compiled:
                raise
            self.say(f"not compiled: {type(error).__name__}: {str(error)[:300]}")
            self.learner.plain()
            return self.train_step(progress)

    def _note(self, totals: list[Tensor], progress: float) -> None:
        loss, aid, right = torch.stack(totals).mean(0).tolist()
        self.curve.append({"step": self.step, "progress": progress, "loss": loss, "dense": aid, "accuracy": right})
        pace = 1000 * self.seconds / max(1, self.step - WARM)
        self.say(
            f"step {self.step} ({progress:.1%}, {self.seconds:.0f} s, {pace:.1f} ms per step): "
            f"loss {loss:.4f}, dense {aid:.3f}, right {right:.3f}"
        )

    def measure(self, progress: float, exams: tuple[str, ...] = ("held-out", "VSR dev")) -> None:
        """Accuracies of the averaged model, and everything on disk."""
        found = {name: self.examine(name) for name in exams}
        for name, result in found.items():
            self.say(f"  {name}: " + _rates({family: each["accuracy"] for family, each in result.items()}))
        dev = found.get("VSR dev", {}).get("inside the graph", {}).get("accuracy", 0.0)
        entry = {f"{name} / {family}": each["accuracy"] for name, result in found.items() for family, each in result.items()}
        self.curve.append({"step": self.step, "progress": progress, **entry})
        # Early stopping: what is kept is the best on VSR dev, of the last part of the training.
        if self.plan.no_share == 1 and progress >= self.plan.last_part and dev >= self.best["accuracy"]:
            self.best = {"accuracy": dev, "step": self.step}
            write_checkpoint(self.average.model, self.out / "best")
        write_checkpoint(self.average.model, self.out / "latest")
        self.save()

    def examine(self, name: str, blind: bool = False) -> dict[str, dict[str, float]]:
        """The averaged model's accuracy by family."""
        exam = self.exams[name]
        return by_family(exam, margins(self.average, lambda rows: self.photos.pixels[rows], exam, blind))

    def save(self) -> None:
        """Everything that is needed to go on, then the record so far."""
        state = {
            "learner": self.learner.state_dict(), "average": self.average.state_dict(),
            "optimizer": self.optimizer.state_dict(), "generator": self.generator.get_state(), "step": self.step,
            "seconds": self.seconds, "curve": self.curve, "best": self.best, "plan": asdict(self.plan),
        }  # fmt: skip
        partial = self.out / "state.partial"
        torch.save(state, partial)
        partial.rename(self.out / "state.pt")
        with (self.out / "training.csv").open("w", newline="") as stream:
            writer = csv.DictWriter(stream, [*dict.fromkeys(key for entry in self.curve for key in entry)])
            writer.writeheader()
            writer.writerows({k: round(v, 5) for k, v in entry.items()} for entry in self.curve)

    def resume(self) -> bool:
        """Go on where an earlier run of the same plan stopped."""
        path = self.out / "state.pt"
        if not path.is_file():
            return False
        state = torch.load(path, map_location=self.device, weights_only=False)
        self.learner.load_state_dict(state["learner"])
        self.average.load_state_dict(state["average"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.generator.set_state(state["generator"].cpu())
        self.step, self.seconds, self.curve, self.best = (state[name] for name in ("step", "seconds", "curve", "best"))
        return True

    def start_from(self, folder: Path) -> None:
        """Begin with the weights of a finished checkpoint instead of fresh ones."""
        for each in (self.learner, self.average):
            read_weights(each.model, folder)

    def record(self, seed: int, minutes: float | None, steps: int | None) -> dict[str, Any]:
        """What was done, and what came out, for the model card: the kept checkpoint on every examination."""
        kept = self.out / "best"
        if kept.is_dir():
            read_weights(self.average.model, kept)
        on_gpu = self.device.type == "cuda"
        return {
            "plan": asdict(self.plan), "seed": seed, "minutes": minutes, "steps_wanted": steps, "steps": self.step,
            "seconds": round(self.seconds), "kept": self.best, "photographs": len(self.rows),
            "device": torch.cuda.get_device_name(self.device) if on_gpu else "CPU", "torch": torch.__version__,
            "parameters": sum(p.numel() for p in self.learner.model.parameters()),
            "teacher": self.teacher_dev, "results": {name: self.examine(name) for name in self.exams},
            "without picture": {"VSR test": self.examine("VSR test", blind=True)},
        }  # fmt: skip


def save_record(training: Training, minutes: float | None, steps: int | None) -> dict[str, Any]:
    """Write `training.json` beside the checkpoints."""
    done = training.record(training.plan.seed, minutes, steps)
    (training.out / "training.json").write_text(json.dumps(done, indent=1) + "\n")
    return done


def biased(plan: Plan) -> Plan:
    """The plan of a short continuation in which almost every answer is yes."""
    return replace(plan, no_share=0.01, rate=1e-4, backbone_rate=2e-5, warmup=20, lessons=0.0, statements_from=0.0, last_part=0.0)


def _rates(values: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.3f}" for name, value in values.items())


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
