"""SGLang: `/generate` with `token_ids_logprob`. It takes a prompt, not messages, so the template is applied here.

Written from SGLang's documentation and source; not run against the real server.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from recap.errors import RecapError
from recap.models.remote.client import Wire
from recap.models.remote.contract import About, Ask, Chat, RefusedError, Said, UnreadableError
from recap.models.remote.responses import Document, Tokens, left_out, logprobs_of
from recap.models.remote.template import Template, load_template

INFO = ("/model_info", "/get_model_info")
"""the newer and the older name"""


class Sglang:
    """A server by SGLang."""

    kind: ClassVar[str] = "SGLang"
    names_pictures: ClassVar[bool] = False
    longest_setting: ClassVar[str] = "--context-length"
    advice: ClassVar[tuple[tuple[str, str], ...]] = (
        (r"longer than the model's context|maximum allowed length|context length",
         "the prompt is longer than the server takes: start SGLang with a larger --context-length"),
    )  # fmt: skip

    def __init__(self, wire: Wire, name: str | None, template: str | None = None) -> None:
        self.wire, self.name, self._given = wire, name, template
        self._template: Template | None = None
        self._special = False

    @staticmethod
    async def here(wire: Wire) -> bool:
        """Whether this is SGLang: it tells the path of its model."""
        return bool((await _info(wire)).model_path)

    async def about(self) -> About:
        """The model's path, and the weights' version where weights were exchanged."""
        info = await _info(self.wire)
        name = info.served_model_name or info.model_path
        if self.name not in (None, name, info.model_path):
            raise RefusedError(f'{self.wire.address}: no model "{self.name}" is served ({name} is)')
        if info.has_image_understanding is False:
            raise RefusedError(f"{self.wire.address}: the model takes no pictures: serve a vision-language model")
        self._template = self._load_template(info.tokenizer_path or info.model_path)
        return About(await self._version(), name, f"{info.model_path}, weights {info.weight_version}")

    async def chat(self, question: str) -> Chat:
        """The template's prompt. What the tokenizer begins every text with is added, unless the template did so."""
        text = self._prompt(Ask(question, None, ()))
        bare, full = await self.tokens(text), await self.tokens(text, True)
        self._special = left_out(bare, full, bare)
        return Chat(full if self._special else bare, text, self._special)

    async def continued(self, question: str, said: str) -> list[int]:
        """The prompt is text, so an answer is begun by writing it behind."""
        return await self.tokens(self._prompt(Ask(question, None, (), said)), self._special)

    async def tokens(self, text: str, special: bool = False) -> list[int]:
        """The server's tokenizer."""
        body = {"prompt": text, "add_special_tokens": special}
        return (await self.wire.post("/v1/tokenize", body, Tokens.model_validate)).tokens

    async def ask(self, ask: Ask) -> Said:
        """One token, greedily; what counts are the log-probabilities beside it."""
        body: dict[str, Any] = {
            "text": self._prompt(ask),
            "sampling_params": {"max_new_tokens": 1, "temperature": 0},
            "return_logprob": True,
            "token_ids_logprob": list(ask.ids),
        }
        if ask.picture is not None:
            body["image_data"] = ask.picture.uri
        return await self.wire.post("/generate", body, lambda answer: _read(answer, ask))

    def _prompt(self, ask: Ask) -> str:
        if self._template is None:
            raise AssertionError("about() comes first")
        return self._template.prompt(ask.question, ask.picture is not None) + ask.said

    def _load_template(self, path: str) -> Template:
        if self._given is None and not Path(path).is_dir():
            raise RecapError(
                f"{self.wire.address}: SGLang's /generate takes no chat messages, so the template is applied here: "
                f"give --template with the folder of {path}, or its chat_template.jinja"
            )
        return load_template(self._given or path)

    async def _version(self) -> str:
        for path in ("/server_info", "/get_server_info"):
            try:
                return await self.wire.get(path, lambda found: str(found["version"]))
            except RecapError:
                continue
        return "of unknown version"


class _Info(Document):
    model_path: str
    served_model_name: str | None = None
    tokenizer_path: str | None = None
    weight_version: str | None = "default"
    has_image_understanding: bool | None = None


class _Meta(Document):
    prompt_tokens: int | None = None
    weight_version: str | None = "default"
    output_token_ids_logprobs: tuple[list[tuple[float, int, str | None] | tuple[float, int]] | None, ...] = ()


class _Generated(Document):
    meta_info: _Meta


async def _info(wire: Wire) -> _Info:
    try:
        return await wire.get(INFO[0], _Info.model_validate)
    except RefusedError:
        return await wire.get(INFO[1], _Info.model_validate)


def _read(answer: Any, ask: Ask) -> Said:
    meta = _Generated.model_validate(answer).meta_info
    place = meta.output_token_ids_logprobs[0] if meta.output_token_ids_logprobs else None
    if not place:
        raise UnreadableError("the server gives no log-probabilities of chosen tokens: SGLang does (token_ids_logprob)")
    found = logprobs_of([(each[1], each[0]) for each in place], ask.ids)
    return Said(found, meta.prompt_tokens, f"weights {meta.weight_version}")
