# torch and transformers type their own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""End to end, as `recap probe` runs: picture files to margins in a store, through the model's released processor."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate, takewhile
from pathlib import Path
from typing import Any

import torch

from recap.bench.against import UnsharedModel
from recap.bench.arithmetic import useful_operations
from recap.bench.run import PARTS, THINGS, matmul_rate
from recap.bench.shapes import random_weights
from recap.claims import Statement, default_graph
from recap.datasets.probing import probe_items
from recap.errors import RecapError, one_of
from recap.images import image_size, open_image
from recap.models import LikelihoodModel, Request
from recap.models.fp8 import FP8, use_fp8
from recap.models.layers import compile_layers
from recap.models.layout import TreeBatch
from recap.models.load import load_model
from recap.models.local import DTYPES, LocalModel
from recap.models.processor import load_processor
from recap.probes import merge, plan_probes, printed_calls
from recap.probing import Item, LocalEngine, ProbeRun
from recap.store import Store

WARMING = 5
"""budgets of tokens before the clock runs: batches grow to their full size, so that their memory is there, and every
kernel is compiled for sizes that are multiples of 16 and for others"""
ENDINGS = {".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff"}
SAMPLED, ONE_BY_ONE = 48, 3
"""pictures on which batching without sharing, and asking call by call, are timed: both scale linearly"""


@dataclass(frozen=True)
class PictureBench:
    """What was measured on a folder of pictures."""

    model: str
    weights: str
    """random, or the checkpoint's own"""
    device: str
    dtype: str
    compiled: bool
    pictures: int
    sizes: int
    """distinct widths and heights among them"""
    statements: int
    probes: int
    tokens_per_picture: float
    """tokens of a tree: the picture's, and those of its questions"""
    ms_per_statement: dict[str, float]
    """call by call (`calls`), batched without sharing (`batched`), as token trees (`tree`); files to store each"""
    warm_seconds: float
    """the first batches, with compiling if that is done"""
    tflop_per_statement: float
    matmul_tflops: float
    gpu_busy: float | None
    """share of the time in which the GPU computed, batches in the middle of the run; None on a CPU"""
    slowest_batch: float
    """time per token of the slowest full batch over the median's: a recompilation would show"""
    peak_gib: float | None
    largest_difference: float
    """between the margins of trees and of the two plain ways"""

    @property
    def ratios(self) -> dict[str, float]:
        ms = self.ms_per_statement
        return {"vs_calls": ms["calls"] / ms["tree"], "vs_batched": ms["batched"] / ms["tree"]}

    @property
    def share_of_matmul(self) -> float:
        """Of the matrix-product rate, counted on useful tokens."""
        return 1e3 * self.tflop_per_statement / self.ms_per_statement["tree"] / self.matmul_tflops

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"ratios": self.ratios, "share_of_matmul": self.share_of_matmul}


def bench_pictures(
    folder: str | Path,
    model: str = "world:aligned",
    *,
    images: int | None = None,
    statements: int = 4,
    random: bool = False,
    dtype: str | None = None,
    device: str | None = None,
    tokens: int | None = None,
    compiled: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> PictureBench:
    """Time a model on the pictures of a folder in all three ways. `random`: its shape with random weights."""
    files = sorted(str(path) for path in Path(folder).rglob("*") if path.suffix.lower() in ENDINGS)[:images]
    if not files:
        missing = "there is no picture in this folder" if Path(folder).is_dir() else "no such folder"
        raise RecapError(f"{folder}: {missing}")
    if statements < 1:
        raise RecapError(f"statements is {statements}; at least one per picture is needed")
    one_of(dtype or "float32", DTYPES, "a dtype")
    local = _load(model, random, dtype, device, tokens, say)
    if local.way != "tree":
        raise RecapError(f"{model}: this model is not scored as token trees, so there is nothing to compare")
    place, items = local.scorer.device, _items(files, statements)
    say("measuring the matrix-product rate")
    rate = matmul_rate(place, local.scorer.dtype)
    first = [Request(open_image(name), _questions(items, name)) for name in files[:SAMPLED]]
    flops = useful_operations(local.scorer, local.scorer.ready(local.prompter.together(first)))
    say("call by call")
    calls, alone = _one_by_one(local, first[:ONE_BY_ONE], items)
    if compiled:
        say("compiling the layers")
        compile_layers(local.scorer.model, 2)
    start = time.monotonic()
    # Another mix of sizes than any batch that counts: the last pictures, backwards, one of them twice as often asked.
    _run(local, _items(_warming(local, files[::-1], statements), statements + 1))
    warm = time.monotonic() - start
    say(f"token trees: {len(items)} statements on {len(files)} pictures")
    if place.type == "cuda":
        torch.cuda.reset_peak_memory_stats(place)
    run = _run(local, items)
    peak = torch.cuda.max_memory_allocated(place) / 2**30 if place.type == "cuda" else None
    say("one batch at a time")
    timed = _TimedModel(local)
    _run(timed, items)
    largest = max(size for size, _ in timed.batches)
    per_token = [seconds / size for size, seconds in timed.batches if 2 * size >= largest]
    say("batched without sharing")
    some = items[: statements * min(SAMPLED, len(files))]
    unshared = UnsharedModel(local)
    _run(unshared, some[: 4 * statements])
    batched = _run(unshared, some)
    both = [abs(run.margins[probe] - margin) for probe, margin in batched.margins.items()]
    single = [abs(a - b) for a, b in zip(alone, _margins_of(run, items, files[:ONE_BY_ONE]), strict=True)]
    return PictureBench(
        model=model,
        weights="random" if random else "checkpoint",
        device=torch.cuda.get_device_name(place) if place.type == "cuda" else "cpu",
        dtype=local.scorer.precision,
        compiled=compiled,
        pictures=len(files),
        sizes=len({image_size(name) for name in files}),
        statements=len(items),
        probes=run.computed,
        tokens_per_picture=sum(size for size, _ in timed.batches) / len(files),
        ms_per_statement={
            "calls": 1e3 * calls,
            "batched": 1e3 * batched.seconds / len(some),
            "tree": 1e3 * run.seconds / len(items),
        },
        warm_seconds=warm,
        tflop_per_statement=flops / (statements * len(first)) / 1e12,
        matmul_tflops=rate / 1e12,
        gpu_busy=_busy(local, items) if place.type == "cuda" else None,
        slowest_batch=max(per_token) / statistics.median(per_token),
        peak_gib=peak,
        largest_difference=max([*both, *single]),
    )


def _load(
    model: str, random: bool, dtype: str | None, device: str | None, tokens: int | None, say: Callable[[str], None]
) -> LocalModel:
    if not random:
        loaded = load_model(model, dtype=dtype, device=device, tokens=tokens, compiled=False, say=say)
        if not isinstance(loaded, LocalModel):
            raise RecapError(f"{model}: a served model cannot be timed here; recap bench --against {model}")
        return loaded
    from transformers import AutoConfig

    place = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    config: Any = AutoConfig.from_pretrained(model, trust_remote_code=False)
    kind = getattr(torch, dtype) if dtype and dtype != FP8 else config.dtype or torch.bfloat16
    say(f"building {model} with random weights in {kind} on {place}")
    weights = random_weights(config, place, kind)
    if dtype == FP8:
        use_fp8(weights)
    return LocalModel(weights, load_processor(model), Path(model).name, tokens=tokens, say=say)


def _warming(local: LocalModel, files: Sequence[str], statements: int) -> Sequence[str]:
    """As many of the pictures as fill the budgets before the clock runs."""
    tokens = accumulate(local.size(image_size(name), 2 * statements) for name in files)
    return files[: 1 + sum(1 for _ in takewhile(lambda each: each < WARMING * local.tokens, tokens))]


def _items(files: Sequence[str], statements: int) -> list[Item]:
    """So many statements about each picture, as What'sUp has them: every relation of one of its two parts."""
    items: list[Item] = []
    for i, name in enumerate(files):
        for j in range(statements):
            pair = i + j // 4
            subject, obj = THINGS[pair % len(THINGS)], THINGS[(pair * 7 + 3 + pair // 16) % len(THINGS)]
            if subject == obj:
                obj = THINGS[(THINGS.index(obj) + 1) % len(THINGS)]
            relation = PARTS[i % 2][j % 4]
            items.append(Item(f"{i}-{j}", "", name, name, Statement(subject, relation, obj, "", relation, False), None))
    return items


def _questions(items: Sequence[Item], name: str) -> tuple[str, ...]:
    """The distinct questions about a picture."""
    claims = [default_graph().claim(item.statement) for item in items if item.image == name]
    return tuple(probe.question for probe in merge(plan_probes(claim, "img") for claim in claims))


def _run(model: LikelihoodModel, items: Sequence[Item]) -> ProbeRun:
    """As `recap probe` does it: into a store on disk that knows nothing yet."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "margins.sqlite") as store:
        run = probe_items(items, LocalEngine(model), store).ran
    if run.failed:
        name, why = next(iter(run.failed.items()))
        raise RecapError(f"{len(run.failed)} pictures could not be shown, {name} for one: {why}")
    run.seconds = time.monotonic() - start
    return run


def _margins_of(run: ProbeRun, items: Sequence[Item], names: Sequence[str]) -> list[float]:
    by_question = {(image, probe.question): margin for (image, probe), margin in run.margins.items()}
    return [by_question[name, question] for name in names for question in _questions(items, name)]


def _one_by_one(local: LocalModel, requests: Sequence[Request], items: Sequence[Item]) -> tuple[float, list[float]]:
    """Seconds per statement, in the paper's count of calls, and the margins."""
    claims = [default_graph().claim(item.statement) for item in items]
    local.scorer.plain(Request(requests[0].image, requests[0].questions[:2]))
    start = time.monotonic()
    margins = [margin for request in requests for margin in local.scorer.plain(request)]
    return printed_calls(claims)["recap-img"] * (time.monotonic() - start) / (2 * len(margins)), margins


class _TimedModel:
    """A model that answers one batch at a time, each timed with its tokens."""

    def __init__(self, local: LocalModel) -> None:
        self.local, self.batches = local, list[tuple[int, float]]()
        self.identity, self.way, self.tokens = local.identity, local.way, local.tokens
        self.padded, self.preparing, self.kept = local.padded, local.preparing, local.kept
        self.size, self.prepare = local.size, local.prepare

    @property
    def forwards(self) -> int:
        return self.local.forwards

    def expect(self, tokens: int) -> None:
        """Whether to compile is the bench's own choice."""

    def margins(self, requests: Sequence[Request], prepared: TreeBatch | None = None) -> list[list[float]]:
        start = time.monotonic()
        rows = self.local.margins(requests, prepared)
        size = sum(map(len, prepared.trees)) if prepared is not None else 1
        self.batches.append((size, time.monotonic() - start))
        return rows


def _busy(local: LocalModel, items: Sequence[Item]) -> float:
    """The share of a run in which the GPU computed, from its first kernel to its last."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as watched:
        _run(local, items)
    kernels = sorted(
        (event.start_ns(), event.start_ns() + event.duration_ns())
        for event in watched.profiler.kineto_results.events()  # pyright: ignore[reportOptionalMemberAccess]
        if event.device_type().name == "CUDA" and not event.name().startswith("Memcpy HtoD")
    )
    busy = until = 0
    for start, end in kernels:
        busy += max(0, end - max(start, until))
        until = max(until, end)
    return busy / (until - kernels[0][0])
