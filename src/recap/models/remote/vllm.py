"""vLLM: chat completions with `logprob_token_ids` (vLLM 0.26 or later), which work with its prefix cache.

`prompt_logprobs` and `echo` would give the same numbers and skip that cache: they are never used.
"""

from __future__ import annotations

import contextlib
from typing import Any, ClassVar, NamedTuple

import httpx
from pydantic import AliasPath, Field

from recap.errors import RecapError
from recap.models.remote.address import api_key, is_loopback, parse_address
from recap.models.remote.client import Client
from recap.models.remote.contract import (
    CHAT,
    Backend,
    ChatPrompt,
    Query,
    RefusedError,
    Reply,
    ServerInfo,
    TransientError,
)
from recap.models.remote.responses import Document, Models, Tokens, lacks_special, logprobs_of
from recap.models.templates import OPENINGS, SWITCH, closing, opening_of


class Vllm(Backend):
    """An OpenAI-compatible server by vLLM."""

    kind: ClassVar[str] = "vLLM"
    names_pictures: ClassVar[bool] = True
    longest_setting: ClassVar[str] = "--max-model-len"
    rounding: ClassVar[float] = 5e-5
    advice: ClassVar[tuple[tuple[str, str], ...]] = (
        (r"maximum context length|max_model_len|longer than the maximum",
         "the prompt is longer than the server takes: start vLLM with a larger --max-model-len"),
        (r"at most 0 image|not a multimodal model|does not support (image|multimodal)",
         "the model takes no pictures: serve a vision-language model, with --limit-mm-per-prompt allowing one image"),
        (r"chat template", "the server has no chat template for this model: start vLLM with --chat-template"),
        (r"logprob_token_ids|max_logprobs",
         "the server does not give log-probabilities of these tokens: vLLM 0.26 or later does, with --max-logprobs 20"),
        (r"model .*does not exist", "there is no model of that name: say which as http://host:port/v1#served-name"),
    )  # fmt: skip
    _special = False
    _start = ""
    """what every answer begins with: the end of a thought that the template opens"""

    def __init__(self, client: Client, name: str | None, template: str | None = None) -> None:
        super().__init__(client, name, template)
        self._switches: dict[str, bool] = {}
        """what the template is told"""

    @staticmethod
    async def detect(client: Client) -> bool:
        return await client.call("/version", lambda answer: "version" in answer)

    async def info(self) -> ServerInfo:
        model = (await self.client.call("/v1/models", Models.model_validate)).named(self.client, self.name)
        self.name = model.id
        version = "of unknown version"
        with contextlib.suppress(RefusedError):  # a gateway may pass on /v1 alone
            version = await self.client.call("/version", lambda answer: str(answer["version"]))
        return ServerInfo(version, model.id, model.root or model.id, model.max_model_len)

    async def chat_prompt(self, question: str) -> ChatPrompt:
        """The prompt of the server's own template, told not to think where it has a switch for that.

        Where it opens a thought all the same, the assistant's message begins with the end of that thought.
        """
        plain = made = await self._made(question)
        if await self._opens(plain):
            self._switches = SWITCH
            made = await self._made(question)
            if made.ids == plain.ids:
                self._switches = {}
        return await self._closed(question, made) if await self._opens(made) else made

    async def _made(self, question: str) -> ChatPrompt:
        """The server's own template and tokenizer; the text is trusted only if it gives the same ids again.

        What the tokenizer begins a text with may be missing in the template: the released processor adds it then, and
        chat requests to vLLM add nothing unless they are told to.
        """
        messages = self._messages(Query(question))
        bare, full = await self.tokens("mug"), await self.tokens("mug", True)
        self._special = lacks_special(bare, full, await self._tokenize(messages | {"add_special_tokens": False}))
        ids = await self._tokenize(messages | {"add_special_tokens": self._special})
        # What the template made, from servers new enough to say it.
        body = messages | {"max_tokens": 1, "temperature": 0, "return_prompt_text": True}
        made: Any = await self.client.call(CHAT, lambda answer: answer.get("prompt_text"), body)
        read: str | None = None
        with contextlib.suppress(RefusedError):
            body = {"model": self.name, "tokens": ids}
            read = await self.client.call("/detokenize", lambda answer: str(answer["prompt"]), body)
        for text, special in ((made, self._special), (read, False)):
            if isinstance(text, str) and await self.tokens(text, special) == ids:
                return ChatPrompt(ids, text, special)
        return ChatPrompt(ids, None)

    async def _opens(self, prompt: ChatPrompt) -> bool:
        """Whether the answer would stand inside a thought."""
        if prompt.text is not None:
            try:
                return bool(closing(prompt.text))
            except RecapError:
                return True
        ends = [await self.tokens(opening) for opening in OPENINGS]
        return any(prompt.ids[-len(end) :] == end for end in ends)

    async def _closed(self, question: str, prompt: ChatPrompt) -> ChatPrompt:
        """The prompt with its thought ended, and what the assistant's message begins with for that."""
        with contextlib.suppress(RecapError):
            end = closing(prompt.text or "")
            opened = opening_of(prompt.text or "")
            wanted = await self.tokens((prompt.text or "") + end, prompt.special) if end else []
            for start in dict.fromkeys((end, end.lstrip(), opened + end)) if wanted else ():
                with contextlib.suppress(RefusedError):  # templates differ in what they take for a thought
                    if await self.continued(question, start) == wanted:
                        self._start = start
                        return ChatPrompt(wanted, (prompt.text or "") + end, prompt.special)
        raise self.client.refusal(
            "the model's chat template opens a thought before the answer, and the server cannot be made to end it: "
            "serve the instruct version of the model, or a template with an enable_thinking switch (--chat-template)"
        )

    async def continued(self, question: str, prefix: str) -> list[int]:
        messages = self._messages(Query(question, prefix=prefix))
        return await self._tokenize(messages | {"add_special_tokens": self._special})

    async def tokens(self, text: str, special: bool = False) -> list[int]:
        return await self._tokenize({"prompt": text, "add_special_tokens": special})

    async def ask(self, query: Query) -> Reply:
        """One token of an answer, greedily; what counts are the log-probabilities beside it."""
        body = self._messages(query) | {
            "add_special_tokens": self._special,
            "max_tokens": 1,
            "temperature": 0,
            "logprobs": True,
            "logprob_token_ids": list(query.ids),
            "return_tokens_as_token_ids": True,
        }
        return await self.client.call(CHAT, lambda answer: _read(answer, query), body)

    def chat(self, text: str) -> dict[str, Any]:
        return self._messages(Query(text)) | {"add_special_tokens": self._special}

    def _messages(self, query: Query) -> dict[str, Any]:
        """The picture first: all questions about it begin alike, and the prefix cache knows them."""
        content: list[dict[str, Any]] = []
        if query.image is not None:
            url = None if query.by_name else {"url": query.image.uri}
            content.append({"type": "image_url", "image_url": url, "uuid": query.image.name})
        content.append({"type": "text", "text": query.question})
        body: dict[str, Any] = {"model": self.name, "messages": [{"role": "user", "content": content}]}
        if self._switches:
            body["chat_template_kwargs"] = self._switches
        if begun := self._start + query.prefix:  # the assistant's message is left open
            body["messages"].append({"role": "assistant", "content": begun})
            body |= {"add_generation_prompt": False, "continue_final_message": True}
        return body

    async def _tokenize(self, body: dict[str, Any]) -> list[int]:
        try:
            return (await self.client.call("/tokenize", Tokens.model_validate, {"model": self.name} | body)).tokens
        except RefusedError as error:
            if "there is no /tokenize" not in str(error):
                raise
            raise self.client.refusal(
                "/tokenize is not here, and without it the answers' tokens cannot be known: let it through beside /v1"
            ) from None


class _Logprob(Document):
    token: str
    logprob: float


class _Completion(Document):
    model: str
    top_logprobs: tuple[_Logprob, ...] = Field(
        (), validation_alias=AliasPath("choices", 0, "logprobs", "content", 0, "top_logprobs")
    )
    prompt_tokens: int | None = Field(None, validation_alias=AliasPath("usage", "prompt_tokens"))
    system_fingerprint: str | None = None


def _read(answer: Any, query: Query) -> Reply:
    completion = _Completion.model_validate(answer)
    if not completion.top_logprobs:
        raise TransientError("the server gives no log-probabilities: vLLM does, unless something before it strips them")
    named = [(each.token.partition(":"), each.logprob) for each in completion.top_logprobs]
    pairs = [(int(number), value) for (mark, _, number), value in named if mark == "token_id" and number.isdecimal()]
    source = f"{completion.model}, {completion.system_fingerprint}"
    return Reply(logprobs_of(pairs, query.ids), completion.prompt_tokens, source)


class PrefixCache(NamedTuple):
    """Prompt tokens that were looked up, and those that were found, since the server started."""

    queries: float
    hits: float

    def share_since(self, before: PrefixCache) -> float:
        """Of the prompt tokens since then, how many came from the cache."""
        queries = self.queries - before.queries
        return (self.hits - before.hits) / queries if queries else 0.0


def prefix_cache(address: str) -> PrefixCache | None:
    """The counters of /metrics now, over all engines of the server; None where it shows none."""
    try:
        from prometheus_client.parser import text_string_to_metric_families
    except ImportError:
        needs = "its prefix cache is read with pip install 'recap-vlm[server]'"
        raise RecapError(f"prometheus_client is not installed: {needs}") from None
    where, key = parse_address(address), api_key()
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        answer = httpx.get(f"{where.root}/metrics", headers=headers, timeout=10, trust_env=not is_loopback(where))
        answer.raise_for_status()
        families = {family.name: family for family in text_string_to_metric_families(answer.text)}
        queries, hits = (
            sum(sample.value for sample in families[name].samples if sample.name != f"{name}_created")
            for name in ("vllm:prefix_cache_queries", "vllm:prefix_cache_hits")
        )
    except (httpx.HTTPError, ValueError, KeyError):
        return None
    return PrefixCache(queries, hits)
