"""The trial at the start: does the server see the picture, give what is asked for, and cut nothing off?"""

from __future__ import annotations

import base64
import hashlib
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from recap.models.remote.answers import Answers
from recap.models.remote.contract import SAMPLE, About, Ask, Backend, Chat, Picture, RefusedError, Said

if TYPE_CHECKING:
    from recap.models.remote.client import Wire

QUESTIONS = (SAMPLE, "Is the cat on the table?", "Does the box contain the ball?")
"""In half precision two pictures can give one margin by chance; with three questions they do not."""
SAME = 0.25
"""A server that was started again answers the trial within this. Another checkpoint is off by whole units."""
EXACT = 1e-6


def encode(image: Image.Image) -> Picture:
    """A picture as PNG, without loss: the server's processor sees the very pixels that the local one would."""
    stream = io.BytesIO()
    image.convert("RGB").save(stream, "PNG", compress_level=1)
    png = stream.getvalue()
    return Picture(base64.b64encode(png).decode(), f"recap-{hashlib.sha256(png).hexdigest()}")


def trial_pictures() -> tuple[Picture, Picture]:
    """Noise, and a black half beside a white one: nothing alike, of one size."""
    noise = np.random.default_rng(0).integers(0, 256, (96, 96, 3), dtype=np.uint8)
    halves = np.zeros((96, 96, 3), dtype=np.uint8)
    halves[:, 48:] = 255
    return encode(Image.fromarray(noise)), encode(Image.fromarray(halves))


@dataclass(frozen=True)
class Trial:
    """What a server answered when it was tried: what later answers are held against."""

    about: About
    who: str
    margins: tuple[float, ...]
    """of the first question: about noise, about the halves, and about nothing"""
    by_name: bool
    """a picture that was sent once may be named"""
    picture_tokens: int | None
    """how long the prompt was with a picture"""


class Tester:
    """Tries a server."""

    def __init__(self, wire: Wire, backend: Backend, chat: Chat, answers: Answers) -> None:
        self.wire, self.backend, self.chat, self.answers = wire, backend, chat, answers
        self.pictures = trial_pictures()

    async def first(self, about: About) -> Trial:
        """Everything that must hold before a margin is believed."""
        bare = await self._said(SAMPLE, None)
        self._whole(bare)
        shown = await self._said(SAMPLE, self.pictures[0])
        if bare.prompt_tokens and shown.prompt_tokens and shown.prompt_tokens <= bare.prompt_tokens:
            raise self._refused(
                f"the picture is dropped: the prompt has {shown.prompt_tokens} tokens with it and {bare.prompt_tokens} "
                "without; serve a vision-language model with the chat template of its release"
            )
        noise = await self._seen()
        margins = await self._margins()
        return Trial(about, shown.who, margins, await self._by_name(margins, noise), shown.prompt_tokens)

    async def again(self, trial: Trial) -> None:
        """After a new connection: is it still the same model? A stored margin must never be another's."""
        about = await self.backend.about()
        if (about.name, about.root) != (trial.about.name, trial.about.root) or about.version != trial.about.version:
            raise self._refused(f"another model stands here than at the start: {about.root} ({about.version})")
        margins = await self._margins()
        worst = max(abs(a - b) for a, b in zip(margins, trial.margins, strict=True))
        if worst > SAME:
            raise self._refused(f"another model stands here than at the start: margins are off by {worst:.2g}")

    def _refused(self, why: str) -> RefusedError:
        return RefusedError(f"{self.wire.address}: {why}")

    def _whole(self, bare: Said) -> None:
        """The prompt that was answered is as long as the one that the tokenizer makes."""
        if bare.prompt_tokens is not None and bare.prompt_tokens < len(self.chat.ids):
            raise self._refused(
                f"the server cuts prompts off: it read {bare.prompt_tokens} of {len(self.chat.ids)} tokens; "
                f"start it without truncation, with a larger {self.backend.longest_setting}"
            )

    async def _seen(self) -> float:
        """How much an answer varies by itself; refused where another picture changes nothing beyond that."""
        varies = 0.0
        for question in QUESTIONS:
            one, again, other = [await self._margin(question, self.pictures[i]) for i in (0, 0, 1)]
            varies = max(varies, abs(one - again))
            if abs(one - other) > 2 * varies + EXACT:
                return varies
        raise self._refused(
            "the answers are the same whatever the picture: it is not seen; serve a vision-language model with the "
            "chat template of its release, and without a proxy that takes pictures away"
        )

    async def _margins(self) -> tuple[float, ...]:
        return tuple([await self._margin(SAMPLE, picture) for picture in (*self.pictures, None)])

    async def _by_name(self, margins: tuple[float, ...], noise: float) -> bool:
        """Both pictures have been sent. Named, they must give the same again, each its own."""
        if not self.backend.names_pictures:
            return False
        try:
            named = [await self._margin(SAMPLE, picture, by_name=True) for picture in self.pictures]
        except RefusedError:
            return False
        allowed = max(2 * noise, abs(margins[0] - margins[1]) / 4)
        return all(abs(a - b) <= allowed for a, b in zip(named, margins, strict=False))

    async def _margin(self, question: str, picture: Picture | None, by_name: bool = False) -> float:
        asks = self.answers.asks(question, picture, by_name)
        return self.answers.margin([await self.backend.ask(ask) for ask in asks])

    async def _said(self, question: str, picture: Picture | None) -> Said:
        return await self.backend.ask(Ask(question, picture, self.answers.steps[0].ids))
