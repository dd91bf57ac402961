"""What is asked of a server, and what a backend must do for it: one file per kind of server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol

from recap.errors import RecapError

SAMPLE = "Is the mug to the left of the laptop?"
"""the question that a server is tried with; the same as the local engine resolves its answers behind"""


class UnreadableError(Exception):
    """An answer came that is not what was asked for. It is asked for again a few times, and never guessed at."""


class RefusedError(RecapError):
    """The server understood, and says no: asking the same again changes nothing."""


@dataclass(frozen=True)
class Picture:
    """A picture as it travels: a lossless PNG in base64, and a name that is the digest of what is seen."""

    base64: str
    name: str

    @property
    def uri(self) -> str:
        """The picture inside an address, as OpenAI-compatible servers take it."""
        return f"data:image/png;base64,{self.base64}"


@dataclass(frozen=True)
class Ask:
    """One request: which token comes next behind a question, and behind the part of the answer that is said already."""

    question: str
    picture: Picture | None
    ids: tuple[int, ...]
    """tokens whose log-probabilities are wanted"""
    said: str = ""
    """how the answer begins, where an answer is several tokens"""
    by_name: bool = False
    """the server has seen the picture: name it only"""


@dataclass(frozen=True)
class Said:
    """What came back."""

    logprobs: Mapping[int, float]
    prompt_tokens: int | None
    """how long the prompt was, picture included, if the server says"""
    who: str
    """what the answer says of who gave it; it may not change while a model is in use"""


@dataclass(frozen=True)
class About:
    """Who a server says it is."""

    version: str
    name: str
    root: str
    """the checkpoint behind the name, as the server calls it"""
    longest: int | None = None
    """tokens that a prompt may have, if the server says"""


@dataclass(frozen=True)
class Chat:
    """The prompt that a server makes of a question without a picture, up to where the answer begins."""

    ids: list[int]
    text: str | None
    """None where the server cannot say it"""
    special: bool = False
    """whether special tokens are added when the text becomes ids"""


class Backend(Protocol):
    """A kind of server. Everything else (retries, answers, checks, batches) is the same for all of them."""

    kind: ClassVar[str]
    names_pictures: ClassVar[bool]
    """whether a picture that was sent once can be named afterwards"""
    longest_setting: ClassVar[str]
    """the server's own setting for how long a prompt may be"""
    advice: ClassVar[tuple[tuple[str, str], ...]]
    """what refusals look like (a pattern), and what to change"""

    async def about(self) -> About:
        """Who is there."""
        ...

    async def chat(self, question: str) -> Chat:
        """The prompt that the server makes of a question."""
        ...

    async def continued(self, question: str, said: str) -> list[int]:
        """Token ids of that prompt with the beginning of an answer behind it."""
        ...

    async def tokens(self, text: str, special: bool = False) -> list[int]:
        """Token ids of a text."""
        ...

    async def ask(self, ask: Ask) -> Said:
        """The log-probabilities of exactly the tokens that were asked for."""
        ...
