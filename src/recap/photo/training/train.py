# torch and transformers type their own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""The training: lessons first (what is there, in which half), then relations, people's statements last."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812

from recap.models.llava import EOS, NO, YES
from recap.photo.training.augment import draw_frames, frame_boxes, show
from recap.photo.training.checkpoint import build, read_weights, write_checkpoint
from recap.photo.training.dense import dense_loss, dense_targets
from recap.photo.training.evaluate import by_family, margins
from recap.photo.training.learner import LONG, MEDIUM, SHORT, Layout, Learner
from recap.photo.training.lessons import Lessons
from recap.photo.training.look import look_loss, order_loss, placed
from recap.photo.training.plan import Plan
from recap.photo.training.questions import Asked, ThingTable, Wording, join, thing_table
from recap.photo.training.vocabulary import templates, topics, vocabulary

Tensor = torch.Tensor
EVERY, WARM = 50, 10
"""steps between two notes, and steps at the start that do not count in time: compiling"""
NOTED = ("loss", "dense", "look", "gaze", "accuracy", "placed", "order", "left/right half", "left/right")
"""losses, then shares of right answers: of all, of what the look and order heads tell across the picture, and of the
questions that no knowledge of things answers, about one thing and about two that are there"""
LOOKING = 10.0
"""seconds between two looks for photographs that have come"""


class Training:
    """One model in training."""

    def __init__(
        self, plan: Plan, lessons: Lessons, weights: Path | None, out: Path, compiled: str = "none",
        say: Callable[[str], None] = print,
    ) -> None:  # fmt: skip
        self.plan, self.lessons, self.out, self.say = plan, lessons, out, say
        self.device, self.generator = lessons.device, lessons.generator
        self.learner, self.average = (
            Learner(
                build(plan.backbone, given, plan.seed, plan.layers, plan.width, plan.inner, plan.strength)
            ).to(self.device)
            for given in (weights, None)
        )  # fmt: skip
        if self.device.type == "cuda":
            for each in (self.learner, self.average):
                each.to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue]
        self.average.load_state_dict(self.learner.state_dict())
        self.average.eval()
        self.learner.compile_parts(compiled)
        usual = {"plain": 0.75, "phrases": 0.25}
        self.wordings = {
            SHORT: Wording(templates(usual, SHORT.width - 1), self.device),
            MEDIUM: Wording(templates({"paraphrases": 0.5, "wrappers": 0.5}, MEDIUM.width - 1), self.device),
            LONG: Wording(templates({"constrained": 0.9, "paraphrases": 0.1}, LONG.width - 1), self.device),
        }
        self._optimizer()
        self._followed: list[list[Tensor]] = []
        sideways = (("left_half", "right_half"), ("left_of", "right_of"))
        self._sideways = [
            torch.tensor([topics().index(name) for name in pair], device=self.device) for pair in sideways
        ]
        self.step = 0
        self.seconds = 0.0
        self.curve: list[dict[str, float]] = []
        self.best: dict[str, float] = {"accuracy": 0.0}

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

    # One step.

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
        exist, half = (round(q * 0.35), round(q * 0.35)) if early else (round(q * 0.2), round(q * 0.12))
        return exist, half, q - exist - half

    def ask(self, table: ThingTable, people: Tensor, mirrored: Tensor, layout: Layout, progress: float) -> Asked:
        """Questions about the pictures of a batch, as they are shown."""
        sampler = self.lessons.sampler
        exist, half, related = self._counts(layout, progress)
        parts = [sampler.relations(table, related, self.lessons.share)]
        parts += [sampler.halves(table, half)] if half else []
        parts += [sampler.existence(table, exist)] if exist else []
        asked = join(parts)
        if len(people):
            asked = self.lessons.with_people(asked, people, mirrored)
        # What could not be asked, for want of two clear things, becomes a question of existence.
        spare = sampler.existence(table, layout.questions)
        return Asked(
            *(
                torch.where(asked.valid, getattr(asked, name), getattr(spare, name))
                for name in Asked.__dataclass_fields__
            )
        )

    def train_step(self, progress: float) -> Tensor:
        """One step; the loss, its parts and the share of right answers."""
        plan, words = self.plan, vocabulary()
        layout = self._layout_of(progress)
        rows, people = self.lessons.draw(progress)
        n, told = len(rows), len(people)
        smallest = torch.full((n,), 0.55, device=self.device)
        smallest[n - told :] = 0.88
        frames = draw_frames(n, smallest, plan.crop, self.generator, self.device)
        corners, seen = frame_boxes(self.lessons.corners[rows], frames)
        kind = self.lessons.kind[rows]
        table = thing_table(kind, corners, seen, self.lessons.sampler.clarity)
        asked = self.ask(table, people, frames.mirrored, layout, progress)
        valid = asked.valid
        if plan.no_share < 1:
            lot = torch.rand(valid.shape, generator=self.generator, device=self.device)
            valid = valid & ((asked.yes > 0.5) | (lot < plan.no_share))
        worded = self.wordings[layout].words(asked, self.generator)
        ids, names = F.pad(worded.ids, (0, 1)), F.pad(worded.names, (0, 1))
        answer = torch.where(asked.yes > 0.5, words[YES], words[NO])
        pixels = show(self.lessons.photos.pixels[rows], frames, self.generator)
        targets = dense_targets(kind, corners, seen)
        if self.device.type == "cuda":
            pixels = pixels.to(memory_format=torch.channels_last)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            heard = self.learner(pixels, ids, worded.length, answer, layout, plan.blind)
        log = F.log_softmax(heard.answer, -1)
        each = -(asked.yes * log[..., words[YES]] + (1 - asked.yes) * log[..., words[NO]])
        loss = (each * valid).sum() / valid.sum().clamp(min=1)
        closing = F.cross_entropy(heard.after.flatten(0, 1), torch.full_like(answer, words[EOS]).flatten())
        dense = dense_loss(heard.dense, targets)
        look, gaze = look_loss(heard.look, heard.gaze, names, asked, table, plan.blind)
        self.optimizer.zero_grad(set_to_none=True)
        order, ordered = order_loss(heard.order, asked, table, plan.blind)
        aids = plan.look_weight(progress) * (look + plan.gaze * gaze + plan.order * order)
        aids = aids + plan.dense_weight(progress) * dense
        (loss + 0.02 * closing + aids).backward()
        torch.nn.utils.clip_grad_norm_(self.learner.parameters(), 1.0)
        for group in self.optimizer.param_groups:
            group["lr"] = group["base"] * self._rate(progress)
        self.optimizer.step()
        self._follow()
        right = (heard.answer[..., words[YES]] >= heard.answer[..., words[NO]]) == (asked.yes > 0.5)
        valid[: plan.blind] = False
        both = table.single.gather(1, asked.subject) & table.single.gather(1, asked.object)
        sure = valid & both & ((asked.yes == 0) | (asked.yes == 1))
        asks = [valid, *(sure & torch.isin(asked.topic, pair) for pair in self._sideways)]
        shares = [(right & each).sum() / each.sum().clamp(min=1) for each in asks]
        known = placed(heard.look, names, asked, table, plan.blind)
        return torch.stack([loss, dense, look, gaze, shares[0], known, ordered, *shares[1:]]).detach()

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
        torch._foreach_lerp_(self._followed[0], self._followed[1], 1 - keep)  # pyright: ignore[reportPrivateUsage, reportPrivateImportUsage]

    # The whole course.

    def run(self, minutes: float | None, steps: int | None, every: float = 60.0, most: int | None = None) -> None:
        """Until the time is up or the steps are done. Every so many seconds it is measured and saved.

        `most` stops earlier, as an interruption would.
        """
        begun = mark = looked = time.monotonic()
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
                mark = now
            begun = now
            if len(totals) == EVERY:
                self._note(totals, progress)
                totals = []
            if now - looked > LOOKING:
                self.lessons.admit()
                looked = time.monotonic()
            # Oftener towards the end, where one of the measured models is kept.
            if time.monotonic() - mark > (every if progress < self.plan.last_part else every / 2):
                self.measure(progress)
                begun = mark = time.monotonic()  # measuring does not count
        if totals:
            self._note(totals, 1.0)
        self.measure(self.step / steps if steps else self.seconds / (60 * (minutes or 1)))

    def _tried_step(self, progress: float) -> Tensor:
        """The first step: where compiling fails on a machine, training goes on without it, slower."""
        try:
            return self.train_step(progress)
        except Exception as error:
            if not self.learner.compiled:
                raise
            self.say(f"not compiled: {type(error).__name__}: {str(error)[:300]}")
            self.learner.compile_parts("none")
            return self.train_step(progress)

    def _note(self, totals: list[Tensor], progress: float) -> None:
        told = dict(zip(NOTED, torch.stack(totals).mean(0).tolist(), strict=True))
        self.curve.append({"step": self.step, "progress": progress, **told})
        pace = 1000 * self.seconds / max(1, self.step - WARM)
        self.say(
            f"step {self.step} ({progress:.1%}, {self.seconds:.0f} s, {pace:.1f} ms per step): "
            + ", ".join(f"{name} {value:.3f}" for name, value in told.items())
        )

    def measure(self, progress: float, exams: tuple[str, ...] = ("held-out", "VSR dev")) -> None:
        """Accuracies of the averaged model, and everything on disk."""
        from recap.photo.training.record import save

        found = {name: self.examine(name) for name in exams}
        for name, result in found.items():
            self.say(f"  {name}: " + ", ".join(f"{family} {each['accuracy']:.3f}" for family, each in result.items()))
        dev = found.get("VSR dev", {}).get("inside the graph", {}).get("accuracy", 0.0)
        entry = {
            f"{name} / {family}": each["accuracy"] for name, result in found.items() for family, each in result.items()
        }
        self.curve.append({"step": self.step, "progress": progress, **entry})
        # Early stopping: what is kept is the best on VSR dev, of the last part of the training.
        if self.plan.no_share == 1 and progress >= self.plan.last_part and dev >= self.best["accuracy"]:
            self.best = {"accuracy": dev, "step": self.step}
            write_checkpoint(self.average.model, self.out / "best")
        write_checkpoint(self.average.model, self.out / "latest")
        save(self)

    def examine(self, name: str, blind: bool = False) -> dict[str, dict[str, Any]]:
        """The averaged model's accuracy by family."""
        exam = self.lessons.exams[name]
        return by_family(exam, margins(self.average, lambda rows: self.lessons.photos.pixels[rows], exam, blind))

    def start_from(self, folder: Path) -> None:
        """Begin with the weights of a finished checkpoint instead of fresh ones."""
        for each in (self.learner, self.average):
            read_weights(each.model, folder)


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
