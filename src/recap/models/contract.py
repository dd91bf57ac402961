"""What a likelihood model is: images with questions go in, log p(yes) − log p(no) and who said it come out."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from recap.errors import RecapError, one_of

if TYPE_CHECKING:
    from PIL.Image import Image

ANSWERS = (" yes", " no")
"""The two continuations, with one leading space as delimiter."""
ANSWER_MODES = ("continuation", "spellings")
SAMPLE_QUESTION = "Is the mug to the left of the laptop?"
"""behind it answers are resolved to tokens, and models are tried out, on this machine and behind servers"""


def sums_spellings(answers: str) -> bool:
    """Whether this way to score answers counts every spelling of them."""
    one_of(answers, ANSWER_MODES, "a way to score answers")
    return answers == "spellings"


def spellings_of(answer: str) -> list[str]:
    """The ways to write an answer: yes, Yes, YES, each behind a space and without."""
    word = answer.strip()
    return [space + cased for cased in (word.lower(), word.capitalize(), word.upper()) for space in (" ", "")]


def log_sum(logs: Sequence[float]) -> float:
    """log Σ exp: the log-probability of several spellings together, whatever the size of the numbers."""
    largest = max(logs)
    return largest + math.log(sum(math.exp(each - largest) for each in logs))


def single_tokens(prompt: list[int], joined: list[list[int]], alone: list[list[int]]) -> tuple[int, ...]:
    """The tokens of those spellings that are one: behind the prompt (`joined`, prompt included), or by themselves."""
    behind = {ids[-1] for ids in joined if len(ids) == len(prompt) + 1 and ids[:-1] == prompt}
    return tuple(sorted(behind | {ids[0] for ids in alone if len(ids) == 1}))


ALL_BUT = 0.99
"""a picture of which this share is shown counts as shown whole: sizes are rounded"""


def crop_note(kept: tuple[float, float]) -> str:
    """What should be known about a verdict on a picture of which a model was shown these shares; nothing if on all."""
    share, side = min(zip(kept, ("width", "height"), strict=True))
    if share >= ALL_BUT:
        return ""
    return f"the processor shows the model only the middle {share:.0%} of the picture's {side}; --pad keeps all of it"


ELONGATED = 20
"""times as wide as high, or as high as wide: such a picture is scaled until little of its shorter side is left"""


def shape_note(size: tuple[int, int]) -> str:
    """What should be known about a verdict on a picture of this width and height; nothing where its shape is usual."""
    width, height = size
    times = max(size) / max(1, min(size))
    if times < ELONGATED:
        return ""
    shape = "as wide as high" if width > height else "as high as wide"
    return f"the picture is {times:.0f} times {shape}; scaled for a model, little of it can be recognised: cut it"


def crops_note(kept: Sequence[tuple[float, float]]) -> str:
    """The same about many pictures, in one line."""
    least = [min(shares) for shares in kept if min(shares) < ALL_BUT]
    if not least:
        return ""
    what = f"the middle of its width or height, down to {min(least):.0%}; --pad keeps all of it"
    return f"{len(least):,} of {len(kept):,} pictures are cut: of each the processor shows the model only {what}"


class UnansweredError(RecapError):
    """One question about one picture that a model cannot answer, though it may answer all others."""


@dataclass(frozen=True)
class Request:
    """Questions about one picture, or about none."""

    image: Image | None
    questions: tuple[str, ...]
    name: str | None = field(default=None, compare=False)
    """what the picture is called, for messages"""


@dataclass(frozen=True)
class Identity:
    """Everything about a model that can change a margin. It goes into the key of every stored margin."""

    name: str
    revision: str
    """a digest of a checkpoint's files, or what a server tells of its own"""
    dtype: str
    attention: str
    scoring: str
    """tree or plain: the two agree up to rounding, and rounding is kept apart"""
    template: str
    """digest of the chat template"""
    answers: tuple[tuple[int, ...], tuple[int, ...]]
    """token ids of the yes and no continuations; of all their spellings, where `spellings` is set"""
    libraries: str
    """torch and transformers with their versions"""
    processor: str = ""
    """digest of what happens to a picture before the model sees it"""
    spellings: bool = False
    by_content: bool = False
    """`revision` names the files' content: what they are called and where they lie then changes nothing"""
    samples: int = 0
    """answers that were drawn for every margin; 0 where log-probabilities gave it"""

    @property
    def digest(self) -> str:
        """A short stable name for all of it."""
        fields = asdict(self)
        if self.by_content:
            del fields["name"]
        if not self.samples:  # as it was before there were sampled margins: stores are found again
            del fields["samples"]
        return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()

    def __str__(self) -> str:
        summed = ", spellings" if self.spellings else ""
        summed += f", {self.samples} samples" if self.samples else ""
        return f"{self.name}@{self.revision[:12]} ({self.dtype}, {self.attention}{summed})"


NOISE_FACTOR = 4.0
"""the band is so many times the largest difference in a handful of trial questions: thousands will follow"""


def noise_of(model: object) -> float:
    """How far margins of a model may differ by rounding: between batches, precisions and engines; 0 where unknown."""
    return float(getattr(model, "noise", 0.0))


def most_noise_of(model: object) -> float:
    """A bound of `noise_of` that costs nothing; infinite where there is none."""
    return float(getattr(model, "most_noise", math.inf))


NAMED = re.compile(
    r"(?P<name>.+)@(?P<revision>[0-9a-f]{12}) \((?P<dtype>\w+), .+?(?P<summed>(?:, spellings)?(?:, \d+ samples)?)\)",
    re.DOTALL,
)
"""how `str(identity)` names a checkpoint in tables and policies"""


def same_model(one: str, other: str) -> Literal["same", "precision", "another"]:
    """What two names of models, as tables and policies carry them, say: checkpoints are compared by their content.

    Margins that sum over spellings are of another scale, and sampled ones have errors of their own: what was calibrated
    on them fits no others.
    """
    a, b = NAMED.fullmatch(one), NAMED.fullmatch(other)
    if one == other:
        return "same"
    if a is None or b is None or a["revision"] != b["revision"] or a["summed"] != b["summed"]:
        return "another"
    return "same" if a["dtype"] == b["dtype"] else "precision"


class LikelihoodModel(Protocol):
    """Anything that can turn questions into margins: a model on this machine, or one that is served."""

    @property
    def identity(self) -> Identity:
        """Who speaks."""
        ...

    @property
    def way(self) -> str:
        """How it is scored, for people: tree, plain, or how a server does it."""
        ...

    @property
    def tokens(self) -> int:
        """About how many tokens one batch may hold."""
        ...

    @property
    def padded(self) -> bool:
        """Whether requests are padded to the longest of their batch: it then takes as much as if all were so long."""
        ...

    @property
    def preparing(self) -> int:
        """How many batches may be prepared at once, beside one that has its turn."""
        ...

    @property
    def forwards(self) -> int:
        """Forwards run, or requests sent, so far."""
        ...

    def size(self, image: tuple[int, int] | None, questions: int) -> int:
        """About how many tokens so many questions take, from the picture's width and height alone."""
        ...

    def kept(self, image: tuple[int, int]) -> tuple[float, float]:
        """The shares of a picture's width and height that the model is shown, as far as that is known."""
        ...

    def expect(self, tokens: int) -> None:
        """Told about how many tokens of work are coming, before any of it: the model may get ready for a long job."""
        ...

    def prepare(self, requests: Sequence[Request]) -> Any:
        """What can be done ahead of the batch's turn, beside another's; `margins` takes it as its second argument."""
        ...

    def margins(self, requests: Sequence[Request], prepared: Any = None) -> list[list[float]]:
        """log p(yes) − log p(no) of every question of every request, over whole continuations."""
        ...


@runtime_checkable
class Launcher(Protocol):
    """A model whose turns can be begun before the turn at hand was read, so that it never waits for its caller."""

    launches: bool
    """whether it does so on this machine"""

    def begin(self, requests: Sequence[Request], prepared: Any = None) -> Any:
        """Begin a prepared batch's turn; `margins` takes what is returned as its second argument."""
        ...


@runtime_checkable
class Writer(Protocol):
    """A model that can also write, as those that are served do."""

    def complete(self, text: str) -> str:
        """What it writes in answer to a message without a picture."""
        ...
