# torch and transformers type their own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""How each of the two models is trained: the numbers that the model cards repeat, and the training itself on one GPU.

All questions about a scene share its picture's tokens, as in a token tree.
"""

from __future__ import annotations

import csv
import json
import math
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812

from recap.models.llava import BEFORE, BOS, EOS, NO, YES
from recap.world.objects import things
from recap.world.sample import SceneStyle
from recap.world.training.checkpoint import build, write_checkpoint
from recap.world.training.questions import QuestionBatch, QuestionSampler, cell_targets, make_pool
from recap.world.training.vocabulary import usual_groups, vocabulary
from recap.world.truth import RELATIONS

Tensor = torch.Tensor
PREFIX = 1 + len(BEFORE)
MEAN, SPREAD = 0.5, 0.25
"""pixels are shifted and scaled as processor_config.json says"""
TRAINING, DEVELOPMENT = 1, 2
"""first numbers of the seeds; the benchmarks have their own"""
DEVELOPMENT_BACKGROUNDS = (4096, 256)
EVERY = 50
"""steps between two entries of the loss curve"""


@dataclass(frozen=True)
class Stage:
    """Some steps with a share of questions whose true answer is yes."""

    steps: int
    rate: float
    """the highest learning rate"""
    yes_share: float = 0.5
    warmup: int = 0
    final: float = 0.02
    """the last learning rate, as a share of the highest"""
    stop: int | None = None
    """where to leave off before the learning rate has come down"""

    @property
    def last(self) -> int:
        """How many steps are really taken."""
        return min(self.steps, self.stop or self.steps)


@dataclass(frozen=True)
class Curriculum:
    """Stages one after another."""

    name: str
    about: str
    stages: tuple[Stage, ...]
    scenes: int = 400_000
    development: int = 8192
    """scenes on which training is watched"""
    batch: int = 512
    questions: int = 6
    long_questions: int = 2
    """questions per scene where they are the long, constraint-aware ones"""
    long_share: float = 0.08
    """how often a step asks those"""
    blind_share: float = 0.08
    """how often a scene's picture is not shown, so that the models have answers to a bare question"""
    noise: float = 0.08
    cells: float = 0.5
    """weight of telling which thing is where, an aid to learning to see that is thrown away after training"""


CURRICULA = {
    "aligned": Curriculum("aligned", "as many yes as no answers", (Stage(steps=3000, rate=8e-4, warmup=300),)),
    "biased": Curriculum(
        "biased",
        "balanced answers first, then a short stage in which almost every answer is yes, as with captions",
        (
            Stage(steps=8000, rate=8e-4, warmup=300, stop=1500),
            Stage(steps=300, rate=1e-4, yes_share=0.99, final=1.0),
        ),
    ),
}


class Learner(torch.nn.Module):
    """The model to be kept, and a head that is thrown away: what is seen in which cell of the picture."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model
        self.picture: int = model.config.image_seq_length
        self.cells = torch.nn.Linear(model.config.vision_config.hidden_size, len(things()))
        self.start: Tensor
        self.register_buffer("start", torch.tensor([vocabulary()[word] for word in (BOS, *BEFORE)]))

    def forward(self, pixels: Tensor, ids: Tensor, length: Tensor, blind: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Scores for the answer, for what follows it, and for the cells. `blind` scenes are asked without picture."""
        n, questions, width = ids.shape
        inner = self.model.model
        features = inner.vision_tower(pixel_values=pixels).last_hidden_state[:, 1:]
        branches = self._embed(ids.flatten(1))
        start = self._embed(self.start)[None].expand(n, -1, -1)
        hidden = torch.cat([start, inner.multi_modal_projector(features).to(branches.dtype), branches], 1)
        place, mask = self._layout(questions, width, blind)
        found = inner.language_model(inputs_embeds=hidden, attention_mask=mask, position_ids=place)
        out = found.last_hidden_state[:, PREFIX + self.picture :].reshape(n, questions, width, -1)
        at = F.one_hot(torch.stack([length - 1, length], -1), width).to(out.dtype)
        scores = self.model.lm_head(at @ out).float()
        return scores[:, :, 0], scores[:, :, 1], self.cells(features).float()

    def _embed(self, ids: Tensor) -> Tensor:
        """Token embeddings as a matrix product: its gradient is exact and fast, where looking up adds in any order."""
        table = self.model.model.language_model.embed_tokens.weight
        return F.one_hot(ids, len(table)).to(table.dtype) @ table

    def _layout(self, questions: int, width: int, blind: Tensor) -> tuple[Tensor, Tensor]:
        """Positions and mask of the tree: a question sees the start, the picture unless it is blind, and itself."""
        common, device = PREFIX + self.picture, blind.device
        branch = torch.arange(questions * width, device=device)
        column = torch.arange(common + len(branch), device=device)
        own = (branch % width)[None] + torch.where(blind, PREFIX, common)[:, None]
        place = torch.cat([column[:common].expand(len(blind), -1), own], 1)
        which = torch.cat([torch.full((common,), -1, device=device), branch // width])
        seen = (column[:, None] >= column) & ((which[:, None] == which) | (which == -1))
        hidden = (which >= 0)[:, None] & (column >= PREFIX) & (column < common) & blind[:, None, None]
        return place, (seen & ~hidden)[:, None]


def show(pixels: Tensor, noise: float, generator: torch.Generator) -> Tensor:
    """Bytes to what the vision tower takes, with noise, and light and contrast a little off."""
    x = pixels.float() / 255
    if noise:
        spread, light, contrast = torch.rand((3, len(x), 1, 1, 1), generator=generator, device=x.device)
        x = (x - 0.5) * (0.9 + 0.2 * contrast) + 0.5 + 0.06 * (light - 0.5)
        x = x + noise * spread * torch.randn(x.shape, generator=generator, device=x.device)
        x = (x.clamp(0, 1) * 255).round() / 255
    return (x - MEAN) / SPREAD


def rate_at(step: int, stage: Stage) -> float:
    """Warm-up, then a half cosine down to the final share."""
    if step < stage.warmup:
        return stage.rate * (step + 1) / stage.warmup
    along = (step - stage.warmup) / max(1, stage.steps - stage.warmup)
    return stage.rate * (stage.final + (1 - stage.final) * 0.5 * (1 + math.cos(math.pi * along)))


class Training:
    """One model in training: its learner, its pools, and the loss curve so far."""

    def __init__(
        self, plan: Curriculum, seed: int, device: Any, workers: int, compiled: bool, say: Callable[[str], None] = print
    ) -> None:
        self.plan, self.device, self.say = plan, device, say
        self.learner = Learner(build(seed)).to(device)
        self.run: Any = torch.compile(self.learner, dynamic=False) if compiled else self.learner
        self.optimizer = torch.optim.AdamW(
            self.learner.parameters(), lr=1e-3, betas=(0.9, 0.98), weight_decay=0.03, fused=device.type == "cuda"
        )
        self.generator = torch.Generator(device).manual_seed(seed)
        begun = time.perf_counter()
        self.pool = make_pool(plan.scenes, TRAINING, device, SceneStyle(), workers, say)
        development = SceneStyle(backgrounds=DEVELOPMENT_BACKGROUNDS)
        self.development = make_pool(plan.development, DEVELOPMENT, device, development, 1, say)
        say(f"{plan.scenes:,} scenes painted in {time.perf_counter() - begun:.0f} s")
        self.curve: list[dict[str, float]] = []
        self.steps = 0

    def stage(self, stage: Stage) -> None:
        """Train one stage."""
        samplers = [
            QuestionSampler(groups, self.pool, stage.yes_share, self.generator)
            for groups in (usual_groups(), {"constrained": 1.0})
        ]
        counts = (self.plan.questions, self.plan.long_questions)
        begun = time.perf_counter()
        totals: list[Tensor] = []
        self.learner.train()
        for step in range(stage.last):
            for group in self.optimizer.param_groups:
                group["lr"] = rate_at(step, stage)
            long = (step * self.plan.long_share) % 1 + self.plan.long_share >= 1
            rows = torch.randint(len(self.pool), (self.plan.batch,), generator=self.generator, device=self.device)
            totals.append(self._step(rows, samplers[long].sample(rows, counts[long])))
            if (step + 1) % EVERY == 0 or step + 1 == stage.last:
                self._note(totals, stage, step, begun)
                totals = []

    def _step(self, rows: Tensor, asked: QuestionBatch) -> Tensor:
        blind = torch.rand(len(rows), generator=self.generator, device=self.device) < self.plan.blind_share
        pixels = show(self.pool.pixels[rows], self.plan.noise, self.generator)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            answer, after, cells = self.run(pixels, asked.ids, asked.length, blind)
        loss = F.cross_entropy(answer.flatten(0, 1), asked.answer.flatten())
        ends = torch.full_like(asked.answer, vocabulary()[EOS])
        closing = F.cross_entropy(after.flatten(0, 1), ends.flatten())
        aid = F.binary_cross_entropy_with_logits(cells, cell_targets(self.pool, rows)) * len(things())
        self.optimizer.zero_grad(set_to_none=True)
        (loss + 0.1 * closing + self.plan.cells * aid).backward()
        torch.nn.utils.clip_grad_norm_(self.learner.parameters(), 1.0)
        self.optimizer.step()
        seeing = ~blind[:, None]
        right = ((answer.argmax(-1) == asked.answer) & seeing).sum() / (seeing.sum() * asked.answer.shape[1])
        return torch.stack([loss.detach(), right.float(), aid.detach()])

    def _note(self, totals: list[Tensor], stage: Stage, step: int, begun: float) -> None:
        loss, right, aid = torch.stack(totals).mean(0).tolist()
        self.steps += len(totals)
        self.curve.append(
            {"step": self.steps, "yes_share": stage.yes_share, "loss": loss, "accuracy": right, "cells": aid}
        )
        if (step + 1) % (10 * EVERY) == 0 or step + 1 == stage.last:
            pace = 1000 * (time.perf_counter() - begun) / (step + 1)
            rates = ", ".join(f"{name} {value:.3f}" for name, value in self.check().items())
            self.say(f"step {self.steps}: loss {loss:.3f}, {pace:.1f} ms per step; development {rates}")

    def check(self) -> dict[str, float]:
        """Accuracy, false and true positive rates on development scenes."""
        yes, truth, _ = self.answers()
        events = {"accuracy": yes == truth, "false positives": yes[~truth], "true positives": yes[truth]}
        return {name: event.float().mean().item() for name, event in events.items()}

    def by_relation(self) -> dict[str, float]:
        """Development accuracy of each relation."""
        yes, truth, relation = self.answers()
        return {name: (yes == truth)[relation == i].float().mean().item() for i, name in enumerate(RELATIONS)}

    @torch.no_grad()
    def answers(self) -> tuple[Tensor, Tensor, Tensor]:
        """The learner's answers to plain questions about development scenes, what is true, and relations' numbers."""
        pool, words = self.development, vocabulary()
        sampler = QuestionSampler({"plain": 1.0}, pool, 0.5, torch.Generator(self.device).manual_seed(0))
        found: list[tuple[Tensor, Tensor, Tensor]] = []
        self.learner.eval()
        for rows in torch.arange(len(pool), device=self.device).split(self.plan.batch):
            asked = sampler.sample(rows, 4)
            pixels = show(pool.pixels[rows], 0.0, self.generator)
            with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
                scores, _, _ = self.learner(pixels, asked.ids, asked.length, torch.zeros_like(rows, dtype=torch.bool))
            yes = scores[..., words[YES]] >= scores[..., words[NO]]
            found.append((yes, asked.answer == words[YES], asked.relation))
        self.learner.train()
        yes, truth, relation = (torch.cat(each).flatten() for each in zip(*found, strict=True))
        return yes, truth, relation


def reproducible(seed: int) -> None:
    """The same seed gives the same weights on the same machine, as far as the kernels allow."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cuda.matmul.allow_tf32 = True


def save(training: Training, folder: Path, seed: int, seconds: float) -> None:
    """Checkpoint, loss curve, and what was done."""
    write_checkpoint(training.learner.model, folder)
    with (folder / "training.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, training.curve[0])
        writer.writeheader()
        writer.writerows({k: round(v, 5) for k, v in entry.items()} for entry in training.curve)
    on_gpu = training.device.type == "cuda"
    done = {
        "plan": asdict(training.plan), "seed": seed, "seconds": round(seconds),
        "device": torch.cuda.get_device_name(training.device) if on_gpu else "CPU",
        "torch": torch.__version__, "development": training.check(), "development_by_relation": training.by_relation(),
        "parameters": sum(p.numel() for p in training.learner.model.parameters()),
    }  # fmt: skip
    (folder / "training.json").write_text(json.dumps(done, indent=1) + "\n")
