# torch and transformers type their own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""The same What'sUp-shaped work in three ways: call by call, batched without sharing, and as token trees.

No tokenizer and no picture is needed: a word is a token, an image is random patches.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from types import SimpleNamespace
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from recap.bench.shapes import IMAGE_TOKEN, SHAPES, Shape, build
from recap.claims import Claim, Statement, default_graph
from recap.errors import RecapError, did_you_mean
from recap.models.compiled import compile_layers
from recap.models.prompt import Prompted
from recap.models.scoring import Scorer
from recap.models.tree import build_tree
from recap.probes import merge, plan_probes, printed_calls

THINGS = (
    "mug", "book", "plant", "lamp", "bottle", "hat", "bowl", "clock", "candle", "phone", "plate", "basket", "scarf",
    "kettle", "pillow", "remote",
)  # fmt: skip
PARTS = (("left_of", "right_of", "on", "below"), ("left_of", "right_of", "in_front_of", "behind"))
HEAD, TAIL = 6, 6
"""tokens of the chat template before the image and behind the question"""


@dataclass(frozen=True)
class Workload:
    """Per image, the token sequences of its distinct probes."""

    prompts: list[list[list[int]]]
    statements: int
    calls: float
    """likelihood calls per statement in the paper's counting"""


def whatsup_work(shape: Shape, images: int) -> Workload:
    """`images` pictures with four statements each, RECAP-Img, probes merged per image."""
    graph = default_graph()
    words: dict[str, int] = {}
    prompts: list[list[list[int]]] = []
    claims: list[Claim] = []
    for i in range(images):
        subject, obj = THINGS[i % len(THINGS)], THINGS[(i * 7 + 3 + i // 16) % len(THINGS)]
        if subject == obj:
            obj = THINGS[(THINGS.index(obj) + 1) % len(THINGS)]
        here = [graph.claim(Statement(subject, r, obj, "", r, False)) for r in PARTS[i % 2]]
        claims += here
        probes = merge(plan_probes(claim, "img") for claim in here)
        prompts.append([_tokens(probe.question, words, shape) for probe in probes])
    return Workload(prompts, 4 * images, printed_calls(claims)["recap-img"])


def _tokens(question: str, words: dict[str, int], shape: Shape) -> list[int]:
    said = question.replace("?", " ?").split()
    ids = [words.setdefault(word, 100 + len(words)) for word in said]
    return [*range(10, 10 + HEAD), *[IMAGE_TOKEN] * shape.image_tokens, *ids, *range(30, 30 + TAIL)]


@dataclass(frozen=True)
class BenchResult:
    """What was measured."""

    arch: str
    device: str
    dtype: str
    images: int
    ms_per_statement: dict[str, float]
    """call by call (`calls`), batched without sharing (`batched`), as token trees (`tree`)"""
    probes_per_second: float
    share_of_matmul: float
    matmul_tflops: float
    largest_difference: float

    @property
    def ratios(self) -> dict[str, float]:
        """How many times as fast the trees are."""
        ms = self.ms_per_statement
        return {"vs_calls": ms["calls"] / ms["tree"], "vs_batched": ms["batched"] / ms["tree"]}

    def to_json(self) -> dict[str, Any]:
        """As `recap bench --json` prints it."""
        return asdict(self) | {"ratios": self.ratios}


def bench(
    arch: str = "tiny",
    images: int = 820,
    *,
    device: str | None = None,
    dtype: str | None = None,
    tokens: int | None = None,
    compiled: int = 0,
    sampled: int = 24,
    say: Callable[[str], None] = lambda _: None,
) -> BenchResult:
    """Time all three ways. Call by call and batched are timed on `sampled` images' work: they scale linearly."""
    if arch not in SHAPES:
        raise RecapError(f'"{arch}" is not a shape{did_you_mean(arch, SHAPES)} ({", ".join(SHAPES)})')
    if images < 1:
        raise RecapError(f"images is {images}; at least one is needed")
    shape = SHAPES[arch]
    place = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    kind: torch.dtype = getattr(torch, dtype or ("bfloat16" if place.type == "cuda" else "float32"))
    budget = tokens or (16384 if place.type == "cuda" else 4096)
    say(f"building {shape.about} with random weights in {kind} on {place}")
    model = build(shape, place, kind)
    prompter = SimpleNamespace(answers=((50,), (51,)), spelled=None, tokenizer=SimpleNamespace(pad_token_id=0))
    scorer = Scorer(model, prompter)  # pyright: ignore[reportArgumentType]
    work = whatsup_work(shape, images)
    say("measuring the matrix-product rate")
    rate = matmul_rate(place, kind)
    runner = _Runner(scorer, shape, work, place, kind)
    flops = runner.flops(budget)
    say(f"call by call, {work.calls:.1f} calls per statement")
    calls = runner.calls(min(4, images))
    if compiled:
        say("compiling the layers")
        compile_layers(model, compiled)
    say("batched without sharing")
    batched, plain = runner.batched(min(sampled, images), budget)
    say("token trees")
    tree, trees = runner.trees(budget)
    probes = sum(map(len, work.prompts))
    difference = max(abs(a - b) for x, y in zip(plain, trees, strict=False) for a, b in zip(x, y, strict=True))
    return BenchResult(
        arch=arch,
        device=torch.cuda.get_device_name(place) if place.type == "cuda" else "cpu",
        dtype=str(kind).removeprefix("torch."),
        images=images,
        ms_per_statement={"calls": 1e3 * calls, "batched": 1e3 * batched, "tree": 1e3 * tree / work.statements},
        probes_per_second=probes / tree,
        share_of_matmul=flops / tree / rate,
        matmul_tflops=rate / 1e12,
        largest_difference=difference,
    )


class _Runner:
    def __init__(self, scorer: Scorer, shape: Shape, work: Workload, device: torch.device, dtype: torch.dtype) -> None:
        self.scorer, self.shape, self.work, self.device, self.dtype = scorer, shape, work, device, dtype

    def calls(self, images: int) -> float:
        """Seconds per statement: one sequence with its answer at a time, as the paper counts them."""
        prompt = self.work.prompts[0][0]
        pixels = self.one_image(1)
        ids = torch.tensor([[*prompt, 50]], device=self.device)
        mask = torch.ones_like(ids)
        kinds = {"mm_token_type_ids": (ids == IMAGE_TOKEN).int()} if "image_grid_thw" in pixels else {}

        def one() -> None:
            with torch.inference_mode():
                logits = self.scorer.model(
                    input_ids=ids, attention_mask=mask, use_cache=False, **kinds, **pixels
                ).logits
                float(torch.log_softmax(logits[0, -2].float(), -1)[50])

        return self.work.calls * _median_time(one, self.device, 3, 4 * images)

    def batched(self, images: int, budget: int) -> tuple[float, list[list[float]]]:
        """Seconds per statement, and the margins: every probe its own row, image tokens and all."""
        rows = [(i, ids) for i, prompts in enumerate(self.work.prompts[:images]) for ids in prompts]
        pixels = [self.one_image(i) for i in range(images)]
        size = max(1, budget // max(len(ids) for _, ids in rows))

        def run() -> list[list[float]]:
            found: list[list[float]] = [[] for _ in range(images)]
            for start in range(0, len(rows), size):
                some = rows[start : start + size]
                prompted = Prompted([[ids] for _, ids in some], _join([pixels[i] for i, _ in some]))
                for (i, _), margins in zip(some, self.scorer.tree(prompted), strict=True):
                    found[i] += margins
            return found

        run()
        start = _now(self.device)
        found = run()
        return (_now(self.device) - start) / (4 * images), found

    def trees(self, budget: int) -> tuple[float, list[list[float]]]:
        """Seconds for everything, and the margins."""
        batches = self.batches(budget)
        pixels = [self.one_image(i) for i in range(min(len(self.work.prompts), 64))]
        for warm in {0, len(batches) // 2, len(batches) - 1}:
            self.one_batch(batches[warm], pixels)
        found: list[list[float]] = []
        start = _now(self.device)
        for batch in batches:
            found += self.one_batch(batch, pixels)
        return _now(self.device) - start, found

    def flops(self, budget: int) -> float:
        """The arithmetic of all trees, counted on one batch."""
        batch = self.batches(budget)[0]
        pixels = [self.one_image(i) for i in batch]
        with FlopCounterMode(display=False) as counter:
            self.one_batch(batch, pixels)
        return float(counter.get_total_flops()) / len(batch) * len(self.work.prompts)

    def batches(self, budget: int) -> list[range]:
        """Images that go together: as many as the token budget holds."""
        prompts = self.work.prompts
        size = max(1, budget // max(len(build_tree(each)) for each in prompts[:32]))
        return [range(s, min(s + size, len(prompts))) for s in range(0, len(prompts), size)]

    def one_batch(self, batch: Sequence[int], pixels: Sequence[dict[str, torch.Tensor]]) -> list[list[float]]:
        """The margins of one batch of trees."""
        vision = _join([pixels[i % len(pixels)] for i in batch])
        return self.scorer.tree(Prompted([self.work.prompts[i] for i in batch], vision))

    def one_image(self, i: int) -> dict[str, torch.Tensor]:
        torch.manual_seed(i)
        return self.shape.vision(1, self.device, self.dtype)


def _join(each: Sequence[dict[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    return {name: torch.cat([one[name] for one in each]) for name in each[0]}


def matmul_rate(device: torch.device, dtype: torch.dtype) -> float:
    """FLOP/s of one large matrix product, measured here and now."""
    n = 8192 if device.type == "cuda" else 1024
    a, b = (torch.randn(n, n, device=device, dtype=dtype) for _ in range(2))
    return 2 * n**3 / _median_time(lambda: a @ b, device, 3, 20)


def _now(device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


def _median_time(run: Callable[[], object], device: torch.device, warm: int, times: int) -> float:
    for _ in range(warm):
        run()
    found: list[float] = []
    for _ in range(times):
        start = _now(device)
        run()
        found.append(_now(device) - start)
    return statistics.median(found)
