"""A likelihood model from one function: for models that nothing else here can load."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from PIL.Image import Image

from recap.errors import RecapError
from recap.models.contract import Identity, Request
from recap.plugins import FAILURES

Ask = Callable[[Image | None, Sequence[str]], Sequence[float]]
"""a picture, or None for questions without one, and questions → log p(yes) − log p(no) of each"""


class FunctionModel:
    """Asks a function; pictures go through one after the other.

    `name` and `revision` identify the model in tables, stores and policies: another revision is another model.
    """

    way = "function"
    tokens = 1 << 12
    padded = False
    preparing = 1

    def __init__(self, ask: Ask, name: str, revision: str = "1") -> None:
        self.ask, self.forwards = ask, 0
        digest = hashlib.sha256(f"{name}\n{revision}".encode()).hexdigest()
        self.identity = Identity(name, digest, "function", "none", "plain", "", ((), ()), "")

    def size(self, image: tuple[int, int] | None, questions: int) -> int:  # noqa: ARG002
        """Every question counts alike."""
        return questions

    def kept(self, image: tuple[int, int]) -> tuple[float, float]:  # noqa: ARG002
        """The function is given the whole picture."""
        return 1.0, 1.0

    def expect(self, tokens: int) -> None:
        """Nothing can be done ahead."""

    def prepare(self, requests: Sequence[Request]) -> Any:  # noqa: ARG002
        """Nothing can be done ahead."""
        return None

    def margins(self, requests: Sequence[Request], prepared: Any = None) -> list[list[float]]:  # noqa: ARG002
        """One call for each picture."""
        return [self._asked(request) for request in requests]

    def _asked(self, request: Request) -> list[float]:
        try:
            margins = [float(margin) for margin in self.ask(request.image, request.questions)]
        except RecapError:
            raise
        except FAILURES as error:
            raise RecapError(f"model {self.identity.name} failed: {type(error).__name__}: {error}") from error
        if len(margins) != len(request.questions):
            raise RecapError(
                f"model {self.identity.name} gave {len(margins)} margins for {len(request.questions)} questions"
            )
        self.forwards += 1
        return margins
