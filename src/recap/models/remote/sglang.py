"""SGLang: `/generate` with `token_ids_logprob`. It takes a prompt, not messages, so the template is applied here.

Written from SGLang's documentation and source; not run against the real server.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, cast

from pydantic import AliasPath, Field

from recap.errors import RecapError
from recap.files import reading
from recap.models.contract import SAMPLE_QUESTION
from recap.models.remote.address import is_loopback
from recap.models.remote.client import Client
from recap.models.remote.contract import (
    Backend,
    ChatPrompt,
    Query,
    RefusedError,
    Reply,
    ServerInfo,
    TransientError,
)
from recap.models.remote.responses import Document, Tokens, lacks_special, logprobs_of
from recap.models.templates import check_prompts, plain_text, render, without_thought

FILE, CONFIG, OLDER = "chat_template.jinja", "tokenizer_config.json", "chat_template.json"
SPECIAL, ADDED = "special_tokens_map.json", "added_tokens.json"


class Sglang(Backend):
    """A server by SGLang."""

    kind: ClassVar[str] = "SGLang"
    rounding: ClassVar[float] = 5e-5  # not measured: taken to be vLLM's
    longest_setting: ClassVar[str] = "--context-length"
    advice: ClassVar[tuple[tuple[str, str], ...]] = (
        (r"longer than the model's context|maximum allowed length|context length",
         "the prompt is longer than the server takes: start SGLang with a larger --context-length"),
    )  # fmt: skip
    _template: Template | None = None
    _special = False

    @staticmethod
    async def detect(client: Client) -> bool:
        return bool((await _model_info(client)).model_path)

    async def info(self) -> ServerInfo:
        info = await _model_info(self.client)
        name = info.served_model_name or info.model_path
        if self.name not in (None, name, info.model_path):
            raise self.client.refusal(f'no model "{self.name}" is served ({name} is)')
        if info.has_image_understanding is False:
            raise self.client.refusal("the model takes no pictures: serve a vision-language model")
        path = self.template_path or info.tokenizer_path or info.model_path
        # Only a server on this machine may say which folder is read here.
        if self.template_path is None and not (is_loopback(self.client.address) and Path(path).is_dir()):
            raise self.client.refusal(
                "SGLang's /generate takes no chat messages, so the template is applied here: "
                f"give --template with the folder of {path}, or its chat_template.jinja"
            )
        self._template = load_template(path)
        return ServerInfo(await self._version(), name, f"{info.model_path}, weights {info.weight_version}")

    async def chat_prompt(self, question: str) -> ChatPrompt:
        """The template's prompt. What the tokenizer begins every text with is added, unless the template did so."""
        text = self._prompt(Query(question))
        bare, full = await self.tokens(text), await self.tokens(text, True)
        self._special = lacks_special(bare, full, bare)
        return ChatPrompt(full if self._special else bare, text, self._special)

    async def continued(self, question: str, prefix: str) -> list[int]:
        return await self.tokens(self._prompt(Query(question, prefix=prefix)), self._special)

    async def tokens(self, text: str, special: bool = False) -> list[int]:
        body = {"prompt": text, "add_special_tokens": special}
        return (await self.client.call("/v1/tokenize", Tokens.model_validate, body)).tokens

    async def ask(self, query: Query) -> Reply:
        body: dict[str, Any] = {
            "text": self._prompt(query),
            "sampling_params": {"max_new_tokens": 1, "temperature": 0},
            "return_logprob": True,
            "token_ids_logprob": list(query.ids),
        }
        if query.image is not None:
            body["image_data"] = query.image.uri
        return await self.client.call("/generate", lambda answer: _read(answer, query), body)

    def _prompt(self, query: Query) -> str:
        if self._template is None:
            raise AssertionError("info() comes first")
        return self._template(query.question, query.image is not None) + query.prefix

    async def _version(self) -> str:
        for path in ("/server_info", "/get_server_info"):
            with contextlib.suppress(RecapError):
                return await self.client.call(path, lambda answer: str(answer["version"]))
        return "of unknown version"


class _ModelInfo(Document):
    model_path: str
    served_model_name: str | None = None
    tokenizer_path: str | None = None
    weight_version: str | None = "default"
    has_image_understanding: bool | None = None


class _Generated(Document):
    logprobs: list[tuple[float, int, str | None] | tuple[float, int]] | None = Field(
        None, validation_alias=AliasPath("meta_info", "output_token_ids_logprobs", 0)
    )
    prompt_tokens: int | None = Field(None, validation_alias=AliasPath("meta_info", "prompt_tokens"))
    weight_version: str | None = Field("default", validation_alias=AliasPath("meta_info", "weight_version"))


async def _model_info(client: Client) -> _ModelInfo:
    try:
        return await client.call("/model_info", _ModelInfo.model_validate)
    except RefusedError:  # its older name
        return await client.call("/get_model_info", _ModelInfo.model_validate)


def _read(answer: Any, query: Query) -> Reply:
    generated = _Generated.model_validate(answer)
    if not generated.logprobs:
        raise TransientError("the server gives no log-probabilities of chosen tokens: SGLang does (token_ids_logprob)")
    pairs = [(each[1], each[0]) for each in generated.logprobs]
    return Reply(logprobs_of(pairs, query.ids), generated.prompt_tokens, f"weights {generated.weight_version}")


@dataclass(frozen=True)
class Template:
    """What makes a prompt of a question: a chat template, the special tokens that it names, and the way it is told."""

    source: str
    tokens: dict[str, str]
    special: tuple[str, ...]
    """every string that the tokenizer would not read as text, as far as its files say"""
    switches: dict[str, bool] = field(default_factory=dict[str, bool])
    closing: str = ""
    """what ends a thought that the template opens"""

    def __call__(self, question: str, with_image: bool) -> str:
        text = plain_text(question, self.special)
        return render(self.source, self.tokens, text, with_image, self.switches) + self.closing

    def without_thought(self) -> Template:
        """The same, asked for an answer at once."""
        switches, closing = without_thought(
            lambda switches: replace(self, switches=switches, closing="")(SAMPLE_QUESTION, with_image=False)
        )
        return replace(self, switches=switches, closing=closing)


def load_template(place: str) -> Template:
    """The template of a checkpoint's folder, or a template file beside which its tokenizer_config.json lies."""
    path = Path(place)
    folder = path if path.is_dir() else path.parent
    config = _read_file(folder / SPECIAL) | _read_file(folder / CONFIG)
    named = {name: token for name, token in _strings(config).items() if name.endswith("_token")}
    tokens = named | _strings(config.get("extra_special_tokens"))
    added = _strings(config.get("added_tokens_decoder"))
    special = (*tokens.values(), *added.values(), *_read_file(folder / ADDED))
    for file in (path,) if folder != path else (path / FILE, path / OLDER, path / CONFIG):
        source: Any = _read_file(file).get("chat_template")
        if isinstance(source, list):  # several, under names of their own
            several = cast(list[dict[str, Any]], source)
            source = next((each.get("template") for each in several if each.get("name") == "default"), None)
        if isinstance(source, str) and source:
            template = Template(source, tokens, tuple(dict.fromkeys(special))).without_thought()
            check_prompts(template)
            return template
    raise RecapError(f"{place}: there is no chat template here ({FILE}, or in {CONFIG})")


def _strings(given: object) -> dict[str, str]:
    """The tokens of an object by name: a tokenizer's files write each as a string or as an object that holds one."""
    entries = cast(dict[str, Any], given) if isinstance(given, dict) else {}
    bare = {name: cast(dict[str, Any], v).get("content") if isinstance(v, dict) else v for name, v in entries.items()}
    return {name: token for name, token in bare.items() if isinstance(token, str) and token}


def _read_file(path: Path) -> dict[str, Any]:
    """A JSON object, or a template by itself as the object that it would be in; nothing where there is no file."""
    if not path.is_file():
        return {}
    with reading(path, "chat template"):
        text = path.read_text("utf-8")
    try:
        return dict(json.loads(text)) if path.suffix == ".json" else {"chat_template": text}
    except (ValueError, TypeError):
        raise RecapError(f"{path}: not a JSON object") from None
