"""The handshake at the start: what are the answers' tokens, and does the server see the picture and cut nothing off?"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image

from recap.models.contract import SAMPLE_QUESTION, log_sum, single_tokens, spellings_of
from recap.models.remote.contract import (
    Backend,
    ChatPrompt,
    EncodedImage,
    Query,
    RefusedError,
    Reply,
    ServerInfo,
)

QUESTIONS = (SAMPLE_QUESTION, "Is the cat on the table?", "Does the box contain the ball?")
"""In half precision two pictures can give one margin by chance; with three questions they do not."""
SAME = 0.25
"""A server that was started again repeats its margins within this. Another checkpoint is off by whole units."""
EXACT = 1e-6


def encode(image: Image.Image) -> EncodedImage:
    """A picture as PNG, without loss: the server's processor sees the very pixels that the local one would."""
    stream = io.BytesIO()
    image.convert("RGB").save(stream, "PNG", compress_level=1)
    png = stream.getvalue()
    return EncodedImage(base64.b64encode(png).decode(), f"recap-{hashlib.sha256(png).hexdigest()}")


def trial_pictures() -> tuple[EncodedImage, EncodedImage]:
    """Noise, and a black half beside a white one: nothing alike, of one size."""
    noise = np.random.default_rng(0).integers(0, 256, (96, 96, 3), dtype=np.uint8)
    halves = np.zeros((96, 96, 3), dtype=np.uint8)
    halves[:, 48:] = 255
    return encode(Image.fromarray(noise)), encode(Image.fromarray(halves))


@dataclass(frozen=True)
class HandshakeResult:
    """What a server answered at the start: what later replies are held against."""

    info: ServerInfo
    source: str
    margins: tuple[float, ...]
    """of the first question: about noise, about the halves, and about nothing"""
    by_name: bool
    """a picture that was sent once may be named"""
    image_tokens: int | None
    """how long the prompt was with a picture"""
    noise: float = 0.0
    """how much a margin varied by itself: asked again, and among others"""


class Handshake:
    """The checks that a server must pass before a margin is believed."""

    def __init__(self, backend: Backend, prompt: ChatPrompt, answers: AnswerTokens) -> None:
        self.backend, self.prompt, self.answers = backend, prompt, answers
        self.images = trial_pictures()

    async def run(self, info: ServerInfo) -> HandshakeResult:
        ids, refusal = tuple(self.answers.steps[0][1]), self.backend.client.refusal
        bare = await self.backend.ask(Query(SAMPLE_QUESTION, None, ids))
        if bare.prompt_tokens is not None and bare.prompt_tokens < len(self.prompt.ids):
            raise refusal(
                f"the server cuts prompts off: it read {bare.prompt_tokens} of {len(self.prompt.ids)} tokens; "
                f"start it without truncation, with a larger {self.backend.longest_setting}"
            )
        shown = await self.backend.ask(Query(SAMPLE_QUESTION, self.images[0], ids))
        if bare.prompt_tokens and shown.prompt_tokens and shown.prompt_tokens <= bare.prompt_tokens:
            raise refusal(
                f"the picture is dropped: the prompt has {shown.prompt_tokens} tokens with it and {bare.prompt_tokens} "
                "without; serve a vision-language model with the chat template of its release"
            )
        noise = await self._noise()
        margins = await self._margins()
        noise = max(noise, await self._crowded(margins))
        by_name = self.backend.names_pictures and await self._by_name(margins, noise)
        return HandshakeResult(info, shown.source, margins, by_name, shown.prompt_tokens, noise)

    async def repeat(self, first: HandshakeResult) -> None:
        """After a new connection: is it still the same model? A stored margin must never be another's."""
        info, refusal = await self.backend.info(), self.backend.client.refusal
        if (info.name, info.root, info.version) != (first.info.name, first.info.root, first.info.version):
            raise refusal(f"another model stands here than at the start: {info.root} ({info.version})")
        worst = max(abs(a - b) for a, b in zip(await self._margins(), first.margins, strict=True))
        if worst > SAME:
            raise refusal(f"another model stands here than at the start: margins are off by {worst:.2g}")

    async def _noise(self) -> float:
        """How much a margin varies by itself; refused where another picture changes nothing beyond that."""
        varies = 0.0
        for question in QUESTIONS:
            one, again, other = [await self._margin(question, self.images[i]) for i in (0, 0, 1)]
            varies = max(varies, abs(one - again))
            if abs(one - other) > 2 * varies + EXACT:
                return varies
        raise self.backend.client.refusal(
            "the answers are the same whatever the picture: it is not seen; serve a vision-language model with the "
            "chat template of its release, and without a proxy that takes pictures away"
        )

    async def _crowded(self, margins: tuple[float, ...]) -> float:
        """How much the same margins vary when they are asked for all at once."""
        found = await asyncio.gather(*(self._margin(SAMPLE_QUESTION, image) for image in (*self.images, None)))
        return max(abs(a - b) for a, b in zip(found, margins, strict=True))

    async def _margins(self) -> tuple[float, ...]:
        return tuple([await self._margin(SAMPLE_QUESTION, image) for image in (*self.images, None)])

    async def _by_name(self, margins: tuple[float, ...], noise: float) -> bool:
        """Both pictures have been sent. Named, they must give the same again, each its own."""
        try:
            named = [await self._margin(SAMPLE_QUESTION, image, by_name=True) for image in self.images]
        except RefusedError:
            return False
        allowed = max(2 * noise, abs(margins[0] - margins[1]) / 4)
        return all(abs(a - b) <= allowed for a, b in zip(named, margins, strict=False))

    async def _margin(self, question: str, image: EncodedImage | None, by_name: bool = False) -> float:
        queries = self.answers.queries(question, image, by_name)
        return self.answers.margin([await self.backend.ask(query) for query in queries])


@dataclass(frozen=True)
class AnswerTokens:
    """Token ids of both continuations, and the queries that find their margin, summed by the chain rule."""

    yes: tuple[int, ...]
    no: tuple[int, ...]
    steps: tuple[tuple[str, dict[int, int]], ...]
    """per token: the text before it, and the tokens that may stand there with their sign (yes 1, no −1)"""
    spellings: bool = False
    """the ids are every spelling of either answer, one token each, and their probabilities are summed"""

    def queries(self, question: str, image: EncodedImage | None, by_name: bool = False) -> list[Query]:
        return [Query(question, image, tuple(signs), prefix, by_name) for prefix, signs in self.steps]

    def margin(self, replies: Sequence[Reply]) -> float:
        """log p(yes) − log p(no) from the replies to these queries."""
        if self.spellings:
            yes, no = (log_sum([replies[0].logprobs[token] for token in ids]) for ids in (self.yes, self.no))
            return yes - no
        return sum(
            sign * reply.logprobs[token]
            for (_, signs), reply in zip(self.steps, replies, strict=True)
            for token, sign in signs.items()
        )


async def resolve_answers(backend: Backend, prompt: ChatPrompt, answers: tuple[str, str]) -> AnswerTokens:
    """Both continuations as they come out behind a real prompt: the same ids as the local engine's for a checkpoint."""
    yes, no = [await _ids(backend, prompt, answer) for answer in answers]
    if not yes or not no or yes == no:
        raise backend.client.refusal(f"the server's tokenizer cannot tell {answers[0]!r} from {answers[1]!r}")
    # What both begin with cancels, so nothing is asked about it.
    shared = next((i for i, (a, b) in enumerate(zip(yes, no, strict=False)) if a != b), min(len(yes), len(no)))
    signs: dict[tuple[int, ...], dict[int, int]] = {}
    texts: dict[tuple[int, ...], str] = {}
    for sign, ids, answer in ((1, yes, answers[0]), (-1, no, answers[1])):
        for place in range(shared, len(ids)):
            texts[ids[:place]] = answer
            signs.setdefault(ids[:place], {})[ids[place]] = sign
    prefixes = [await _prefix(backend, prompt, before, answer) for before, answer in texts.items()]
    return AnswerTokens(yes, no, tuple(zip(prefixes, signs.values(), strict=True)))


async def resolve_spellings(backend: Backend, prompt: ChatPrompt, answers: tuple[str, str]) -> AnswerTokens:
    """Every way to write either answer that is a single token: the same ids as the local engine's for a checkpoint."""
    if prompt.text is None:
        raise backend.client.refusal(
            "the server does not show its prompt, so the tokens of spellings cannot be known: leave --answers out"
        )
    found: list[tuple[int, ...]] = []
    for answer in answers:
        ways = spellings_of(answer)
        joined = [await backend.tokens(prompt.text + way, prompt.special) for way in ways]
        alone = [await backend.tokens(way) for way in ways]
        found.append(single_tokens(prompt.ids, joined, alone))
    yes, no = found
    if not yes or not no or set(yes) & set(no):
        raise backend.client.refusal(f"no spelling of {answers[0]!r} and {answers[1]!r} is a single token")
    signs = dict.fromkeys(yes, 1) | dict.fromkeys(no, -1)
    return AnswerTokens(yes, no, (("", signs),), spellings=True)


async def _ids(backend: Backend, prompt: ChatPrompt, answer: str) -> tuple[int, ...]:
    base = prompt.ids
    joined = [] if prompt.text is None else await backend.tokens(prompt.text + answer, prompt.special)
    if joined[: len(base)] != base or len(joined) == len(base):
        # The tokenizer merges across the border (or trims): take the continuation by itself.
        joined = base + await backend.tokens(answer)
    return tuple(joined[len(base) :])


async def _prefix(backend: Backend, prompt: ChatPrompt, before: tuple[int, ...], answer: str) -> str:
    """The beginning of an answer as text that the server reads as exactly these tokens behind the prompt."""
    if not before:
        return ""
    for end in range(1, len(answer) + 1):
        # A template may bring the space before an answer itself.
        for text in dict.fromkeys((answer[:end], answer[:end].lstrip())):
            if text and await backend.continued(SAMPLE_QUESTION, text) == prompt.ids + list(before):
                return text
    raise backend.client.refusal(
        f"the answer {answer!r} is several tokens, and the server cannot be made to go on after the first: "
        "its chat template must leave the assistant's last message open"
    )
