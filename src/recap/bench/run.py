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
from typing import Any, TypeVar

import torch

from recap.bench.arithmetic import useful_operations
from recap.bench.shapes import IMAGE_TOKEN, SHAPES, Shape, random_weights
from recap.claims import Claim, Statement, default_graph
from recap.errors import RecapError, one_of
from recap.models.layers import compile_layers
from recap.models.prompt import Prompted
from recap.models.scoring import Scorer
from recap.models.tree import build_tree
from recap.probes import merge, plan_probes, printed_calls

T = TypeVar("T")
THINGS = (
    "mug", "book", "plant", "lamp", "bottle", "hat", "bowl", "clock", "candle", "phone", "plate", "basket", "scarf",
    "kettle", "pillow", "remote",
)  # fmt: skip
PARTS = (("left_of", "right_of", "on", "below"), ("left_of", "right_of", "in_front_of", "behind"))
HEAD, TAIL = 6, 6
"""tokens of the chat template before the image and behind the question"""


def whatsup_work(shape: Shape, images: int) -> tuple[list[list[list[int]]], float]:
    """`images` pictures with four statements each, RECAP-Img: per image, the token sequences of its distinct probes.

    And the likelihood calls per statement in the paper's counting.
    """
    graph = default_graph()
    words: dict[str, int] = {}
    head = [*range(10, 10 + HEAD), *[IMAGE_TOKEN] * shape.image_tokens]
    prompts: list[list[list[int]]] = []
    claims: list[Claim] = []
    for i in range(images):
        subject, obj = THINGS[i % len(THINGS)], THINGS[(i * 7 + 3 + i // 16) % len(THINGS)]
        if subject == obj:
            obj = THINGS[(THINGS.index(obj) + 1) % len(THINGS)]
        here = [graph.claim(Statement(subject, r, obj, "", r, False)) for r in PARTS[i % 2]]
        claims += here
        probes = merge(plan_probes(claim, "img") for claim in here)
        questions = [probe.question.replace("?", " ?").split() for probe in probes]
        ids = [[words.setdefault(word, 100 + len(words)) for word in question] for question in questions]
        prompts.append([[*head, *each, *range(30, 30 + TAIL)] for each in ids])
    return prompts, printed_calls(claims)["recap-img"]


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
    one_of(arch, SHAPES, "a shape")
    if images < 1:
        raise RecapError(f"images is {images}; at least one is needed")
    shape = SHAPES[arch]
    place = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    kind: torch.dtype = getattr(torch, dtype or ("bfloat16" if place.type == "cuda" else "float32"))
    budget = tokens or (16384 if place.type == "cuda" else 4096)
    say(f"building {shape.about} with random weights in {kind} on {place}")
    model = random_weights(shape.config(), place, kind)
    prompter = SimpleNamespace(answers=((50,), (51,)), spelled=None, tokenizer=SimpleNamespace(pad_token_id=0))
    scorer = Scorer(model, prompter)  # pyright: ignore[reportArgumentType]
    prompts, per_statement = whatsup_work(shape, images)
    say("measuring the matrix-product rate")
    rate = matmul_rate(place, kind)
    runner = _Runner(scorer, shape, prompts, budget, place, kind)
    flops = runner.flops()
    say(f"call by call, {per_statement:.1f} calls per statement")
    calls = per_statement * runner.call(4 * min(4, images))
    if compiled:
        say("compiling the layers")
        compile_layers(model, compiled)
    say("batched without sharing")
    batched, plain = runner.batched(min(sampled, images))
    say("token trees")
    tree, trees = runner.trees()
    difference = max(abs(a - b) for x, y in zip(plain, trees, strict=False) for a, b in zip(x, y, strict=True))
    return BenchResult(
        arch=arch,
        device=torch.cuda.get_device_name(place) if place.type == "cuda" else "cpu",
        dtype=str(kind).removeprefix("torch."),
        images=images,
        ms_per_statement={"calls": 1e3 * calls, "batched": 1e3 * batched, "tree": 1e3 * tree / (4 * images)},
        probes_per_second=sum(map(len, prompts)) / tree,
        share_of_matmul=flops / tree / rate,
        matmul_tflops=rate / 1e12,
        largest_difference=difference,
    )


@dataclass(frozen=True)
class _Runner:
    scorer: Scorer
    shape: Shape
    prompts: list[list[list[int]]]
    budget: int
    device: torch.device
    dtype: torch.dtype

    def call(self, times: int) -> float:
        """Seconds per call, the median: one sequence with its answer at a time, as the paper counts them."""
        pixels = self.image(1)
        ids = torch.tensor([[*self.prompts[0][0], 50]], device=self.device)
        kinds = {"mm_token_type_ids": (ids == IMAGE_TOKEN).int()} if "image_grid_thw" in pixels else {}
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "use_cache": False, **kinds, **pixels}

        def one() -> None:
            with torch.inference_mode():
                float(torch.log_softmax(self.scorer.model(**inputs).logits[0, -2].float(), -1)[50])

        return _median_time(one, self.device, times)

    def batched(self, images: int) -> tuple[float, list[list[float]]]:
        """Seconds per statement, and the margins: every probe its own row, image tokens and all."""
        rows = [(i, ids) for i, prompts in enumerate(self.prompts[:images]) for ids in prompts]
        pixels = [self.image(i) for i in range(images)]
        size = max(1, self.budget // max(len(ids) for _, ids in rows))

        def run() -> list[list[float]]:
            result: list[list[float]] = [[] for _ in range(images)]
            for start in range(0, len(rows), size):
                some = rows[start : start + size]
                prompted = Prompted([[ids] for _, ids in some], _join([pixels[i] for i, _ in some]))
                for (i, _), margins in zip(some, self.scorer.tree(prompted), strict=True):
                    result[i] += margins
            return result

        run()
        seconds, margins = _timed(run, self.device)
        return seconds / (4 * images), margins

    def trees(self) -> tuple[float, list[list[float]]]:
        """Seconds for everything, and the margins."""
        batches = self.batches()
        pixels = [self.image(i) for i in range(min(len(self.prompts), 64))]
        for warm in {0, len(batches) // 2, len(batches) - 1}:
            self.tree(batches[warm], pixels)
        return _timed(lambda: [row for batch in batches for row in self.tree(batch, pixels)], self.device)

    def flops(self) -> float:
        """The arithmetic of all trees, counted on one batch."""
        batches = self.batches()
        vision = _join([self.image(i) for i in batches[0]])
        batch = self.scorer.ready(Prompted([self.prompts[i] for i in batches[0]], vision))
        return useful_operations(self.scorer, batch) * len(self.prompts) / len(batches[0])

    def batches(self) -> list[range]:
        """Images that go together: as many as the token budget holds."""
        count = len(self.prompts)
        size = max(1, self.budget // max(len(build_tree(each)) for each in self.prompts[:32]))
        return [range(start, min(start + size, count)) for start in range(0, count, size)]

    def tree(self, batch: Sequence[int], pixels: Sequence[dict[str, torch.Tensor]]) -> list[list[float]]:
        vision = _join([pixels[i % len(pixels)] for i in batch])
        return self.scorer.tree(Prompted([self.prompts[i] for i in batch], vision))

    def image(self, i: int) -> dict[str, torch.Tensor]:
        """The vision inputs of an image of noise."""
        torch.manual_seed(i)
        pixels, grid = torch.randn(self.shape.pixels, device=self.device, dtype=self.dtype), self.shape.grid
        grids = {} if grid is None else {"image_grid_thw": torch.tensor([grid], device=self.device)}
        sizes = {} if self.shape.size is None else {"image_sizes": torch.tensor([self.shape.size], device=self.device)}
        return {"pixel_values": pixels} | grids | sizes


def _join(each: Sequence[dict[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    return {name: torch.cat([one[name] for one in each]) for name in each[0]}


def matmul_rate(device: torch.device, dtype: torch.dtype) -> float:
    """FLOP/s of one large matrix product, measured here and now."""
    n = 8192 if device.type == "cuda" else 1024
    a, b = (torch.randn(n, n, device=device, dtype=dtype) for _ in range(2))
    return 2 * n**3 / _median_time(lambda: a @ b, device, 20)


def _timed(run: Callable[[], T], device: torch.device) -> tuple[float, T]:
    """Seconds, and the result."""

    def now() -> float:
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return time.perf_counter()

    start = now()
    result = run()
    return now() - start, result


def _median_time(run: Callable[[], object], device: torch.device, times: int) -> float:
    for _ in range(3):
        run()
    return statistics.median(_timed(run, device)[0] for _ in range(times))
