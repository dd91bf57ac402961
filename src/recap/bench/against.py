"""The bundled checkpoint in three ways, on the same pictures and questions: as token trees, unshared, and served."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, cast

from recap.datasets import load_dataset
from recap.errors import RecapError
from recap.images import open_image
from recap.models import LikelihoodModel, Request
from recap.models.layout import TreeBatch
from recap.models.load import load_model
from recap.models.local import LocalModel
from recap.models.remote import is_remote
from recap.models.remote.vllm import prefix_cache
from recap.probing import Item, ProbeRun, plan_job, run_job
from recap.store import Store

CHECKPOINT, DATASET = "world:aligned", "world:whatsup"
WARM = 8
"""pictures that are asked about before the clock runs; others than those that count"""
ROUNDS = 3
"""the fastest counts: what else a machine does makes a round slower, never faster"""
SAME = 0.05
"""margins of one checkpoint differ by rounding only, whoever computes them"""


@dataclass(frozen=True)
class EngineTiming:
    """One way, measured."""

    way: str
    probes: int
    seconds: float
    forwards: int
    """forwards run, or requests sent"""
    largest_difference: float
    """from the token tree's margins"""
    from_prefix_cache: float | None = None
    """share of the prompt tokens, where a server says"""

    @property
    def rate(self) -> float:
        return self.probes / self.seconds

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"probes_per_second": self.rate}


class UnsharedModel:
    """A local model that is given every probe as a row of its own, image tokens and all: batched, nothing shared."""

    def __init__(self, local: LocalModel) -> None:
        self.local = local
        self.identity = replace(local.identity, scoring="unshared")
        self.way, self.tokens, self.forwards = "batched without sharing", local.tokens, 0
        self.padded, self.preparing = local.padded, local.preparing

    def size(self, image: tuple[int, int] | None, questions: int) -> int:
        return questions * self.local.size(image, 1)

    def expect(self, tokens: int) -> None:
        self.local.expect(tokens)

    def kept(self, image: tuple[int, int]) -> tuple[float, float]:
        return self.local.kept(image)

    def prepare(self, requests: Sequence[Request]) -> TreeBatch | None:
        alone = [Request(request.image, (question,)) for request in requests for question in request.questions]
        return self.local.prepare(alone)

    def margins(self, requests: Sequence[Request], prepared: TreeBatch | None = None) -> list[list[float]]:
        self.forwards += 1
        ready = prepared or self.prepare(requests)
        assert ready is not None
        rows = iter(self.local.scorer.tree(ready))
        return [[next(rows)[0] for _ in request.questions] for request in requests]


def compare_with_server(
    address: str, images: int = 200, rounds: int = ROUNDS, say: Callable[[str], None] = lambda _: None, **serving: Any
) -> tuple[EngineTiming, EngineTiming, EngineTiming]:
    """Time all three in turn, the fastest round of each. The server is expected to serve `world:aligned`."""
    if not is_remote(address):
        raise RecapError(f"{address}: expected the address of a server, http://host:port/v1#name")
    items = load_dataset(DATASET).items
    names = list(dict.fromkeys(item.unit for item in items))
    if not 1 <= images <= len(names) - WARM:
        raise RecapError(f"images is {images}; between 1 and {len(names) - WARM} can be asked about")
    served = load_model(address, say=say, **serving)
    local = cast(LocalModel, load_model(CHECKPOINT))
    asked = [item for item in items if item.unit in set(names[: images + WARM])]
    models: list[LikelihoodModel] = [local, UnsharedModel(local), served]
    timed: list[list[EngineTiming]] = []
    for number in range(rounds):
        say(f"round {number + 1} of {rounds}: {4 * images} statements on {images} pictures, in three ways")
        timed.append(_round(models, asked, address))
    tree, unshared, other = (
        replace(min(ways, key=lambda way: way.seconds), largest_difference=max(way.largest_difference for way in ways))
        for ways in zip(*timed, strict=True)
    )
    if other.largest_difference > SAME:
        say(f"margins differ by up to {other.largest_difference:.2g}: the server does not serve {CHECKPOINT} in fp32")
    return tree, unshared, other


def _round(models: Sequence[LikelihoodModel], asked: Sequence[Item], address: str) -> list[EngineTiming]:
    """Each model on the same pictures, which no server has seen before."""
    warm, counted = asked[-4 * WARM :], asked[: -4 * WARM]
    pictures = {name: open_image(name) for name in dict.fromkeys(each.image or "" for each in asked)}
    for picture in pictures.values():  # a chance pixel in the corner: a server that saw it must not know it again
        picture.putpixel((0, 0), tuple(random.choices(range(256), k=3)))

    def run(model: LikelihoodModel, which: Sequence[Item]) -> ProbeRun:
        def size(image: str | None, questions: int) -> int:
            return model.size(None if image is None else pictures[image].size, questions)

        with Store(":memory:") as store:
            job = plan_job(which, "img", size, model.tokens, padded=model.padded)
            return run_job(job, model, store, pictures.__getitem__)

    timings: list[EngineTiming] = []
    truth: ProbeRun | None = None
    for model in models:
        run(model, warm)
        before = prefix_cache(address)
        result = run(model, counted)
        after = prefix_cache(address)
        truth = truth or result
        difference = max(abs(result.margins[probe] - margin) for probe, margin in truth.margins.items())
        way = "token tree" if model.way == "tree" else model.way
        share = after.share_since(before) if model is models[-1] and before and after else None
        timings.append(EngineTiming(way, result.computed, result.seconds, result.forwards, difference, share))
    return timings
