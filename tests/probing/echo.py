"""A model that answers from what it is shown, and statements to ask it about."""

from __future__ import annotations

from typing import Any

from PIL import Image

from recap.claims import default_graph
from recap.models.contract import Identity, Request
from recap.probing import Item
from tests.models.tiny import picture


class Echo:
    """A model that answers from what it is shown, and keeps account of it."""

    identity = Identity("echo", "1", "float32", "none", "tree", "t", ((1,), (2,)), "none")

    padded, preparing = True, 1

    def __init__(self) -> None:
        self.batches: list[list[Request]] = []

    @property
    def forwards(self) -> int:
        return len(self.batches)

    def expect(self, tokens: int) -> None:
        return None

    def kept(self, image: tuple[int, int]) -> tuple[float, float]:
        return 1.0, 1.0

    def prepare(self, requests: list[Request]) -> None:
        return None

    def margins(self, requests: list[Request], prepared: Any = None) -> list[list[float]]:
        self.batches.append(requests)
        shade = [0.0 if r.image is None else float(sum(r.image.convert("L").tobytes())) for r in requests]
        return [[s + len(q) for q in r.questions] for r, s in zip(requests, shade, strict=True)]


def items(images: int = 5) -> list[Item]:
    graph = default_graph()
    texts = (
        "The mug is left of the table.",
        "The mug is right of the table.",
        "The mug is on the table.",
        "The mug is near the table.",
    )
    return [
        Item(f"{i}-{j}", "", f"{i}", f"{i}", graph.parse(text).statement, "yes" if j == 0 else "no")
        for i in range(images)
        for j, text in enumerate(texts)
    ]


def shown(name: str) -> Image.Image:
    return picture(40, 30, int(name))


def flat(image: str | None, questions: int) -> int:
    return 100
