"""What is asked of a server, and what a backend must do for it: one file per kind of server."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from recap.errors import RecapError

if TYPE_CHECKING:
    from recap.models.remote.client import Client

CHAT = "/v1/chat/completions"
"""where every kind of server takes a chat, as OpenAI's does"""


@dataclass(eq=False)
class TransientError(Exception):
    """A request that may work if it is sent again: no answer came, or one that is not what was asked for."""

    why: str
    disconnected: bool = False
    """the connection failed: the user is told that we wait"""
    retry_after: float | None = None
    """seconds that the server asks us to wait"""
    limited: bool = True
    """an answer did come: it is asked for only so many times"""


class RefusedError(RecapError):
    """The server understood, and refuses: sending the same again changes nothing."""


class NoAnswerError(RefusedError):
    """The server answers, again and again, and never with what was asked for."""


@dataclass(frozen=True)
class EncodedImage:
    """A picture as it is sent: a lossless PNG in base64, and a name that is the digest of what is seen."""

    base64: str
    name: str

    @property
    def uri(self) -> str:
        """As a data: URL, as OpenAI-compatible servers take it."""
        return f"data:image/png;base64,{self.base64}"


@dataclass(frozen=True)
class Query:
    """One request: which token comes next behind a question, and behind the beginning of its answer."""

    question: str
    image: EncodedImage | None = None
    ids: tuple[int, ...] = ()
    """tokens whose log-probabilities are wanted"""
    prefix: str = ""
    """how the answer begins, where an answer is several tokens"""
    by_name: bool = False
    """the server has seen the picture: name it only"""


@dataclass(frozen=True)
class Reply:
    """The log-probabilities that were asked for."""

    logprobs: Mapping[int, float]
    prompt_tokens: int | None
    """how long the prompt was, picture included, if the server says"""
    source: str
    """what the reply says of who gave it; it may not change while a model is in use"""


@dataclass(frozen=True)
class ServerInfo:
    """What a server says of itself."""

    version: str
    name: str
    root: str
    """the checkpoint behind the name, as the server calls it"""
    longest: int | None = None
    """tokens that a prompt may have, if the server says"""


@dataclass(frozen=True)
class ChatPrompt:
    """The prompt that a server makes of a question without a picture, up to where the answer begins."""

    ids: list[int]
    text: str | None
    """None where the server does not show it"""
    special: bool = False
    """whether special tokens are added when the text becomes ids"""


class Backend(ABC):
    """A kind of server. Everything else (retries, answers, checks, batches) is the same for all of them."""

    kind: ClassVar[str]
    names_pictures: ClassVar[bool] = False
    """whether a picture that was sent once can be named afterwards"""
    longest_setting: ClassVar[str]
    """the server's own setting for how long a prompt may be"""
    rounding: ClassVar[float]
    """how far margins of one checkpoint in fp32 were from transformers' at most; measured by benchmarks/engines.py"""
    advice: ClassVar[tuple[tuple[str, str], ...]]
    """what refusals look like (a pattern), and what to change"""

    def __init__(self, client: Client, name: str | None, template: str | None = None) -> None:
        self.client, self.name, self.template_path = client, name, template

    @staticmethod
    @abstractmethod
    async def detect(client: Client) -> bool:
        """Whether a server is of this kind."""

    @abstractmethod
    async def info(self) -> ServerInfo:
        """Which model is served. It comes before everything else."""

    @abstractmethod
    async def chat_prompt(self, question: str) -> ChatPrompt:
        """The prompt that the server makes of a question."""

    @abstractmethod
    async def continued(self, question: str, prefix: str) -> list[int]:
        """Token ids of that prompt with the beginning of an answer behind it."""

    @abstractmethod
    async def tokens(self, text: str, special: bool = False) -> list[int]: ...

    @abstractmethod
    async def ask(self, query: Query) -> Reply:
        """The log-probabilities of exactly the tokens that were asked for."""

    async def complete(self, text: str, most_tokens: int) -> str:
        """What the model writes in answer to a message, greedily: every kind speaks OpenAI's chat completions."""
        body = self.chat(text) | {"max_tokens": most_tokens, "temperature": 0}
        return await self.client.call(CHAT, _written, body)

    def chat(self, text: str) -> dict[str, Any]:
        """The chat request that brings a message without a picture."""
        return {"model": self.name, "messages": [{"role": "user", "content": text}]}


def _written(answer: Any) -> str:
    """The words of a completion; a refusal that has a field of its own counts as what was said."""
    message = answer["choices"][0]["message"]
    said = message.get("content") or message.get("refusal") or ""
    if not isinstance(said, str):
        raise TransientError("the answer's content is no text")
    return said
