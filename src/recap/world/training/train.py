# torch and transformers type their own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Training one small model on one GPU. All questions about a scene share its picture's tokens, as in a token tree."""

from __future__ import annotations

import csv
import json
import math
import os
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812

from recap.world.objects import things
from recap.world.sample import SceneStyle
from recap.world.training.checkpoint import build, write_checkpoint
from recap.world.training.curriculum import Curriculum, Stage
from recap.world.training.questions import (
    DEVELOPMENT,
    DEVELOPMENT_BACKGROUNDS,
    TRAINING,
    QuestionBatch,
    QuestionSampler,
    ScenePool,
    cell_targets,
    make_pool,
)  # fmt: skip
from recap.world.training.vocabulary import BEFORE, BOS, EOS, NO, YES, usual_groups, vocabulary
from recap.world.truth import RELATIONS

Tensor = torch.Tensor
PREFIX = 1 + len(BEFORE)
MEAN, SPREAD = 0.5, 0.25
"""pixels are shifted and scaled as processor_config.json says"""
EVERY = 50
"""steps between two entries of the loss curve"""


class Learner(torch.nn.Module):
    """The model to be kept, and a head that is thrown away: what is seen in which cell of the picture."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model
        self.picture: int = model.config.image_seq_length
        self.cells = torch.nn.Linear(model.config.vision_config.hidden_size, len(things()))
        words = vocabulary()
        self.start: Tensor
        self.register_buffer("start", torch.tensor([words[w] for w in (BOS, *BEFORE)]))

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
        device = blind.device
        common = PREFIX + self.picture
        total = common + questions * width
        branch = torch.arange(questions * width, device=device)
        begin = torch.where(blind, PREFIX, common)
        own = (branch % width)[None] + begin[:, None]
        place = torch.cat([torch.arange(common, device=device)[None].expand(len(blind), -1), own], 1)
        causal = torch.ones(total, total, dtype=torch.bool, device=device).tril()
        which = torch.cat([torch.full((common,), -1, device=device), branch // width])
        same = (which[:, None] == which[None]) | (which[None] == -1)
        column = torch.arange(total, device=device)
        picture = (column >= PREFIX) & (column < common)
        asking = which >= 0
        hidden = (asking[:, None] & picture[None])[None] & blind[:, None, None]
        return place, ((causal & same)[None] & ~hidden)[:, None]


def show(pixels: Tensor, noise: float, generator: torch.Generator) -> Tensor:
    """Bytes to what the vision tower takes, with noise, and light and contrast a little off."""
    n, device = len(pixels), pixels.device
    x = pixels.float() / 255
    if noise:
        spread, light, contrast = torch.rand((3, n, 1, 1, 1), generator=generator, device=device)
        x = (x - 0.5) * (0.9 + 0.2 * contrast) + 0.5 + 0.06 * (light - 0.5)
        x = x + noise * spread * torch.randn(x.shape, generator=generator, device=device)
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
        spent = time.perf_counter() - begun
        self.curve.append(
            {"step": self.steps, "yes_share": stage.yes_share, "loss": loss, "accuracy": right, "cells": aid}
        )
        if (step + 1) % (10 * EVERY) == 0 or step + 1 == stage.last:
            told = ", ".join(f"{name} {value:.3f}" for name, value in self.check().items())
            self.say(
                f"step {self.steps}: loss {loss:.3f}, {1000 * spent / (step + 1):.1f} ms per step; development {told}"
            )

    def check(self) -> dict[str, float]:
        """Accuracy, false and true positive rates on development scenes."""
        yes, truth, _ = self.answers(self.development)
        return {
            "accuracy": _mean(yes == truth),
            "false positives": _mean(yes[~truth]),
            "true positives": _mean(yes[truth]),
        }

    def by_relation(self) -> dict[str, float]:
        """Development accuracy of each relation."""
        yes, truth, relation = self.answers(self.development)
        return {name: _mean((yes == truth)[relation == i]) for i, name in enumerate(RELATIONS)}

    @torch.no_grad()
    def answers(self, pool: ScenePool) -> tuple[Tensor, Tensor, Tensor]:
        """What the learner answers to plain questions about a pool, what is true, and the relations' numbers."""
        sampler = QuestionSampler({"plain": 1.0}, pool, 0.5, torch.Generator(self.device).manual_seed(0))
        words = vocabulary()
        found: list[tuple[Tensor, Tensor, Tensor]] = []
        self.learner.eval()
        for start in range(0, len(pool), self.plan.batch):
            rows = torch.arange(start, min(start + self.plan.batch, len(pool)), device=self.device)
            asked = sampler.sample(rows, 4)
            blind = torch.zeros(len(rows), dtype=torch.bool, device=self.device)
            pixels = show(pool.pixels[rows], 0.0, self.generator)
            with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
                scores, _, _ = self.learner(pixels, asked.ids, asked.length, blind)
            yes = scores[..., words[YES]] >= scores[..., words[NO]]
            found.append((yes, asked.answer == words[YES], asked.relation))
        self.learner.train()
        yes, truth, relation = (torch.cat(each).flatten() for each in zip(*found, strict=True))
        return yes, truth, relation


def _mean(event: Tensor) -> float:
    return event.float().mean().item()


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
