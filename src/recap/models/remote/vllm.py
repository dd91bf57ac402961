"""vLLM: chat completions with `logprob_token_ids` (vLLM 0.26 or later), which work with its prefix cache.

`prompt_logprobs` and `echo` would give the same numbers and skip that cache: they are never used.
"""

from __future__ import annotations

import contextlib
from typing import Any, ClassVar

from recap.models.remote.client import Wire
from recap.models.remote.contract import About, Ask, Chat, RefusedError, Said, UnreadableError
from recap.models.remote.responses import Document, Models, Tokens, left_out, logprobs_of

CHAT = "/v1/chat/completions"


class Vllm:
    """An OpenAI-compatible server by vLLM."""

    kind: ClassVar[str] = "vLLM"
    names_pictures: ClassVar[bool] = True
    longest_setting: ClassVar[str] = "--max-model-len"
    advice: ClassVar[tuple[tuple[str, str], ...]] = (
        (r"maximum context length|max_model_len|longer than the maximum",
         "the prompt is longer than the server takes: start vLLM with a larger --max-model-len"),
        (r"at most 0 image|not a multimodal model|does not support (image|multimodal)",
         "the model takes no pictures: serve a vision-language model, with --limit-mm-per-prompt allowing one image"),
        (r"chat template", "the server has no chat template for this model: start vLLM with --chat-template"),
        (r"logprob_token_ids|max_logprobs",
         "the server does not give log-probabilities of chosen tokens: vLLM 0.26 or later does, with --max-logprobs 2"),
        (r"model .*does not exist", "there is no model of that name: say which as http://host:port/v1#served-name"),
    )  # fmt: skip

    def __init__(self, wire: Wire, name: str | None) -> None:
        self.wire, self.name = wire, name
        self._special: bool | None = None

    @staticmethod
    async def here(wire: Wire) -> bool:
        """Whether this is vLLM: it tells its version at the root."""
        return await wire.get("/version", lambda found: "version" in found)

    async def about(self) -> About:
        """The model list says which checkpoint stands behind a name."""
        model = (await self.wire.get("/v1/models", Models.model_validate)).named(self.wire.address, self.name)
        self.name = model.id
        version = "of unknown version"
        with contextlib.suppress(RefusedError):  # a gateway may pass on /v1 alone
            version = await self.wire.get("/version", lambda found: str(found["version"]))
        return About(version, model.id, model.root or model.id, model.max_model_len)

    async def chat(self, question: str) -> Chat:
        """The server's own template and tokenizer; the text is trusted only if it gives the same ids again."""
        messages = self._messages(Ask(question, None, ()))
        special = await self._adds_special(messages)
        ids = await self._tokenize(messages | {"add_special_tokens": special})
        for text, added in ((await self._prompt_text(messages), special), (await self._detokenize(ids), False)):
            if text is not None and await self.tokens(text, added) == ids:
                return Chat(ids, text, added)
        return Chat(ids, None)

    async def continued(self, question: str, said: str) -> list[int]:
        """The assistant's message left open."""
        messages = self._messages(Ask(question, None, (), said))
        return await self._tokenize(messages | {"add_special_tokens": bool(self._special)})

    async def tokens(self, text: str, special: bool = False) -> list[int]:
        """The server's tokenizer."""
        return await self._tokenize({"prompt": text, "add_special_tokens": special})

    async def ask(self, ask: Ask) -> Said:
        """One token of an answer, greedily; what counts are the log-probabilities beside it."""
        body = self._messages(ask) | {
            "add_special_tokens": bool(self._special),
            "max_tokens": 1,
            "temperature": 0,
            "logprobs": True,
            "logprob_token_ids": list(ask.ids),
            "return_tokens_as_token_ids": True,
        }
        return await self.wire.post(CHAT, body, lambda answer: _read(answer, ask))

    def _messages(self, ask: Ask) -> dict[str, Any]:
        """The picture first: all questions about it begin alike, and the prefix cache knows them."""
        content: list[dict[str, Any]] = []
        if ask.picture is not None:
            shown = None if ask.by_name else {"url": ask.picture.uri}
            content.append({"type": "image_url", "image_url": shown, "uuid": ask.picture.name})
        content.append({"type": "text", "text": ask.question})
        messages: list[dict[str, Any]] = [{"role": "user", "content": content}]
        if not ask.said:
            return {"model": self.name, "messages": messages}
        messages.append({"role": "assistant", "content": ask.said})
        going_on = {"add_generation_prompt": False, "continue_final_message": True}
        return {"model": self.name, "messages": messages} | going_on

    async def _adds_special(self, messages: dict[str, Any]) -> bool:
        """Whether the template leaves out what the tokenizer begins a text with; the released processor adds it then.

        Chat requests to vLLM add nothing unless they are told to.
        """
        if self._special is None:
            bare, full = await self.tokens("mug"), await self.tokens("mug", True)
            self._special = left_out(bare, full, await self._tokenize(messages | {"add_special_tokens": False}))
        return self._special

    async def _tokenize(self, body: dict[str, Any]) -> list[int]:
        try:
            return (await self.wire.post("/tokenize", {"model": self.name} | body, Tokens.model_validate)).tokens
        except RefusedError as error:
            if "there is no /tokenize" not in str(error):
                raise
            raise RefusedError(
                f"{self.wire.address}: /tokenize is not here, and without it the answers' tokens cannot be known: "
                "let it through beside /v1"
            ) from None

    async def _detokenize(self, ids: list[int]) -> str | None:
        try:
            return await self.wire.post("/detokenize", {"model": self.name, "tokens": ids}, lambda a: str(a["prompt"]))
        except RefusedError:
            return None

    async def _prompt_text(self, messages: dict[str, Any]) -> str | None:
        """What the template made, from servers new enough to say it."""
        body = messages | {"max_tokens": 1, "temperature": 0, "return_prompt_text": True}
        found = await self.wire.post(CHAT, body, lambda answer: answer.get("prompt_text"))
        return found if isinstance(found, str) else None


class _Top(Document):
    token: str
    logprob: float


class _Place(Document):
    top_logprobs: tuple[_Top, ...] = ()


class _Logprobs(Document):
    content: list[_Place] | None = None


class _Choice(Document):
    logprobs: _Logprobs | None = None


class _Usage(Document):
    prompt_tokens: int | None = None


class _Completion(Document):
    model: str
    choices: list[_Choice]
    usage: _Usage | None = None
    system_fingerprint: str | None = None


def _read(answer: Any, ask: Ask) -> Said:
    found = _Completion.model_validate(answer)
    logprobs = found.choices[0].logprobs
    if logprobs is None or not logprobs.content:
        raise UnreadableError(
            "the server gives no log-probabilities: vLLM does, unless something before it strips them"
        )
    named = [(each.token.partition(":"), each.logprob) for each in logprobs.content[0].top_logprobs]
    pairs = [(int(number), value) for (mark, _, number), value in named if mark == "token_id" and number.isdecimal()]
    tokens = None if found.usage is None else found.usage.prompt_tokens
    return Said(logprobs_of(pairs, ask.ids), tokens, f"{found.model}, {found.system_fingerprint}")
