"""How strange the pictures of a run are to the model that is asked about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from recap.models.domain.file import Domain

if TYPE_CHECKING:
    from PIL.Image import Image

TOGETHER = 4
"""pictures in one forward of the tower: a convolutional one takes three times as long for each of 32 on a CPU, whose
cache their maps do not fit"""


class PictureCheck:
    """Measures each picture once, when it is opened anyway, and keeps none. Without a domain nothing is measured."""

    def __init__(self, domain: Domain | None, model: Any, known: Mapping[str, float] | None = None) -> None:
        """`known` were measured before. A model with a domain is a local one."""
        self.domain, self.model = domain, model
        self.strangeness = dict(known or {})
        """of each picture, as a share of the domain's threshold: above 1 it is foreign"""
        self._waiting: dict[str, Any] = {}

    def noted(self, name: str, picture: Image) -> Image:
        """The same picture, one more to be measured."""
        if self.domain is not None and name not in self.strangeness and name not in self._waiting:
            from recap.models.domain.features import pixels_of

            self._waiting[name] = pixels_of(self.model, picture)
            if len(self._waiting) == TOGETHER:
                self._measure()
        return picture

    def finish(self, names: Iterable[str], open_image: Callable[[str], Image]) -> None:
        """Measure what is left; a picture that nobody opened, as its margins were known, is opened now."""
        if self.domain is not None:
            for name in names:
                if name not in self.strangeness and name not in self._waiting:
                    self.noted(name, open_image(name))
        self._measure()

    def _measure(self) -> None:
        if self.domain is not None and self._waiting:
            from recap.models.domain.features import pooled

            domain, pixels = self.domain, list(self._waiting.values())
            found = domain.strangeness(pooled(self.model, pixels, domain.layers, domain.statistics))
            self.strangeness |= dict(zip(self._waiting, found.tolist(), strict=True))
            self._waiting = {}
