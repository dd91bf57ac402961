"""llama.cpp: `/completion` with `n_probs`. The server applies the template; pictures travel beside the prompt.

Of this server's LLaVA tower (as released with llama-cpp-python 0.3.36) docs/served.md has something to say.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from pydantic import AliasPath, Field

from recap.errors import RecapError
from recap.models.remote.client import Client
from recap.models.remote.contract import Backend, ChatPrompt, Query, RefusedError, Reply, ServerInfo, TransientError
from recap.models.remote.responses import Document, Models, Tokens, logprobs_of
from recap.models.templates import SWITCH, without_thought

MARKER = "<__media__>"
"""stands for a picture in a prompt, where the server does not name another"""
PROBS = (64, 4096, 1 << 18)
"""how many of the likeliest tokens are asked for, until the answers' are among them; the last is every token"""


class LlamaCpp(Backend):
    """llama-server."""

    kind: ClassVar[str] = "llama.cpp"
    longest_setting: ClassVar[str] = "--ctx-size"
    rounding: ClassVar[float] = 0.03
    advice: ClassVar[tuple[tuple[str, str], ...]] = (
        (r"exceeds? the available context size|context size",
         "the prompt is longer than the server takes: start llama-server with a larger --ctx-size"),
        (r"multimodal|mmproj|image input", "the model takes no pictures: start llama-server with --mmproj"),
    )  # fmt: skip
    _marker = MARKER
    _closing = ""
    """what ends a thought that the template opens"""

    def __init__(self, client: Client, name: str | None, template: str | None = None) -> None:
        super().__init__(client, name, template)
        self._switches: dict[str, bool] = {}
        """what the template is told"""

    @staticmethod
    async def detect(client: Client) -> bool:
        return await client.call("/props", lambda answer: "default_generation_settings" in answer)

    async def info(self) -> ServerInfo:
        props = await self.client.call("/props", _Props.model_validate)
        if props.modalities is not None and not props.modalities.get("vision"):
            raise self.client.refusal("the model takes no pictures: start llama-server with --mmproj")
        model = (await self.client.call("/v1/models", Models.model_validate)).named(self.client, self.name)
        self.name, self._marker = model.id, props.media_marker
        root = f"{props.model_path or model.id}, {(model.meta or {}).get('size', 'unknown')} bytes"
        return ServerInfo(props.build_info, model.id, root, props.n_ctx)

    async def chat_prompt(self, question: str) -> ChatPrompt:
        """The server's own template; a beginning-of-text token is added by the server, where the model has one."""
        told = [await self._templated(Query(question), switches) for switches in ({}, SWITCH)]
        try:
            self._switches, self._closing = without_thought(lambda switches: told[bool(switches)])
        except RecapError as error:
            raise self.client.refusal(str(error)) from None
        text = await self._prompt(Query(question))
        return ChatPrompt(await self.tokens(text, True), text, True)

    async def continued(self, question: str, prefix: str) -> list[int]:
        return await self.tokens(await self._prompt(Query(question, prefix=prefix)), True)

    async def tokens(self, text: str, special: bool = False) -> list[int]:
        body = {"content": text, "add_special": special, "parse_special": True}
        return (await self.client.call("/tokenize", Tokens.model_validate, body)).tokens

    async def ask(self, query: Query) -> Reply:
        """The likeliest tokens behind the prompt, and more of them where an answer is not among them.

        Every start of the server makes another mark for pictures: one that was started again does not know the old one.
        """
        marker = self._marker
        try:
            return await self._ask(query)
        except RefusedError:
            if query.image is None:
                raise
            self._marker = (await self.client.call("/props", _Props.model_validate)).media_marker
            if self._marker == marker:
                raise
            return await self._ask(query)

    async def _ask(self, query: Query) -> Reply:
        prompt: Any = await self._prompt(query)
        if query.image is not None:
            prompt = {"prompt_string": prompt, "multimodal_data": [query.image.base64]}
        body = {"prompt": prompt, "n_predict": 1, "temperature": -1, "cache_prompt": True, "post_sampling_probs": False}
        for probs in PROBS:
            reply = await self.client.call("/completion", partial(self._read, query, probs), body | {"n_probs": probs})
            if reply is not None:
                return reply
        raise self.client.refusal("the answers' tokens are not among those that the server gives")

    def chat(self, text: str) -> dict[str, Any]:
        return super().chat(text) | ({"chat_template_kwargs": self._switches} if self._switches else {})

    def _read(self, query: Query, probs: int, answer: Any) -> Reply | None:
        """None where an answer's token is less likely than those that came, and more of them can be asked for."""
        completion = _Completion.model_validate(answer)
        if completion.truncated:
            raise self.client.refusal("the prompt was cut off: start llama-server with a larger --ctx-size")
        pairs = [(each.id, each.logprob) for each in completion.top_logprobs]
        if not pairs:
            raise TransientError("the server gives no log-probabilities: llama-server does (n_probs)")
        if len(pairs) >= probs and not set(query.ids) <= {token for token, _ in pairs}:
            return None
        return Reply(logprobs_of(pairs, query.ids), completion.tokens_evaluated, str(completion.model))

    async def _prompt(self, query: Query) -> str:
        return await self._templated(query, self._switches) + self._closing + query.prefix

    async def _templated(self, query: Query, switches: dict[str, bool]) -> str:
        content = [{"type": "text", "text": text} for text in (self._marker, query.question)]
        messages = [{"role": "user", "content": content if query.image is not None else content[1:]}]
        body = {"messages": messages} | ({"chat_template_kwargs": switches} if switches else {})
        return await self.client.call("/apply-template", lambda answer: str(answer["prompt"]), body)


class _Props(Document):
    n_ctx: int | None = Field(None, validation_alias=AliasPath("default_generation_settings", "n_ctx"))
    modalities: dict[str, bool] | None = None
    media_marker: str = MARKER
    model_path: str | None = None
    build_info: str = "of unknown version"


class _Logprob(Document):
    id: int
    logprob: float


class _Completion(Document):
    top_logprobs: tuple[_Logprob, ...] = Field(
        (), validation_alias=AliasPath("completion_probabilities", 0, "top_logprobs")
    )
    model: str | None = None
    tokens_evaluated: int | None = None
    truncated: bool = False
