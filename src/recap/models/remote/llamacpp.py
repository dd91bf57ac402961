"""llama.cpp: `/completion` with `n_probs`. The server applies the template; pictures travel beside the prompt.

Written from llama.cpp's documentation; not run against the real server.
"""

from __future__ import annotations

from typing import Any, ClassVar

from recap.errors import RecapError
from recap.models.remote.client import Wire
from recap.models.remote.contract import About, Ask, Chat, RefusedError, Said, UnreadableError
from recap.models.remote.responses import Document, Models, Tokens, logprobs_of

MARKER = "<__media__>"
"""stands for a picture in a prompt, where the server does not name another"""
PROBS = (64, 4096, 1 << 18)
"""how many of the likeliest tokens are asked for, until the answers' are among them; the last is every token"""


class LlamaCpp:
    """llama-server."""

    kind: ClassVar[str] = "llama.cpp"
    names_pictures: ClassVar[bool] = False
    longest_setting: ClassVar[str] = "--ctx-size"
    advice: ClassVar[tuple[tuple[str, str], ...]] = (
        (r"exceeds? the available context size|context size",
         "the prompt is longer than the server takes: start llama-server with a larger --ctx-size"),
        (r"multimodal|mmproj|image input", "the model takes no pictures: start llama-server with --mmproj"),
    )  # fmt: skip

    def __init__(self, wire: Wire, name: str | None) -> None:
        self.wire, self.name, self._marker = wire, name, MARKER

    @staticmethod
    async def here(wire: Wire) -> bool:
        """Whether this is llama.cpp: it shows its generation settings."""
        return await wire.get("/props", lambda found: "default_generation_settings" in found)

    async def about(self) -> About:
        """The build, and the model's file."""
        props = await self.wire.get("/props", _Props.model_validate)
        if props.modalities is not None and not props.modalities.get("vision"):
            raise RefusedError(f"{self.wire.address}: the model takes no pictures: start llama-server with --mmproj")
        model = (await self.wire.get("/v1/models", Models.model_validate)).named(self.wire.address, self.name)
        self.name, self._marker = model.id, props.media_marker
        root = f"{props.model_path or model.id}, {(model.meta or {}).get('size', 'unknown')} bytes"
        return About(props.build_info, model.id, root, props.default_generation_settings.n_ctx)

    async def chat(self, question: str) -> Chat:
        """The server's own template; a beginning-of-text token is added by the server, where the model has one."""
        text = await self._prompt(Ask(question, None, ()))
        return Chat(await self.tokens(text, True), text, True)

    async def continued(self, question: str, said: str) -> list[int]:
        """The prompt is text, so an answer is begun by writing it behind."""
        return await self.tokens(await self._prompt(Ask(question, None, (), said)), True)

    async def tokens(self, text: str, special: bool = False) -> list[int]:
        """The server's tokenizer."""
        body = {"content": text, "add_special": special, "parse_special": True}
        return (await self.wire.post("/tokenize", body, Tokens.model_validate)).tokens

    async def ask(self, ask: Ask) -> Said:
        """The likeliest tokens behind the prompt, and more of them where an answer is not among them."""
        prompt: Any = await self._prompt(ask)
        if ask.picture is not None:
            prompt = {"prompt_string": prompt, "multimodal_data": [ask.picture.base64]}
        body = {"prompt": prompt, "n_predict": 1, "temperature": -1, "cache_prompt": True, "post_sampling_probs": False}
        for probs in PROBS:

            def read(answer: Any, probs: int = probs) -> Said | None:
                return _read(answer, ask, probs, str(self.wire.address))

            said = await self.wire.post("/completion", body | {"n_probs": probs}, read)
            if said is not None:
                return said
        raise RecapError(f"{self.wire.address}: the answers' tokens are not among those that the server gives")

    async def _prompt(self, ask: Ask) -> str:
        content = [{"type": "text", "text": text} for text in (self._marker, ask.question)]
        messages = [{"role": "user", "content": content if ask.picture is not None else content[1:]}]
        return await self.wire.post("/apply-template", {"messages": messages}, lambda a: str(a["prompt"])) + ask.said


class _Settings(Document):
    n_ctx: int | None = None


class _Props(Document):
    default_generation_settings: _Settings
    modalities: dict[str, bool] | None = None
    media_marker: str = MARKER
    model_path: str | None = None
    build_info: str = "of unknown version"


class _Likely(Document):
    id: int
    logprob: float


class _Place(Document):
    top_logprobs: tuple[_Likely, ...] = ()


class _Completed(Document):
    completion_probabilities: tuple[_Place, ...] = ()
    model: str | None = None
    tokens_evaluated: int | None = None
    truncated: bool = False


def _read(answer: Any, ask: Ask, probs: int, where: str) -> Said | None:
    """None where an answer's token is less likely than those that came, and more of them can be asked for."""
    found = _Completed.model_validate(answer)
    if found.truncated:
        raise RefusedError(f"{where}: the prompt was cut off: start llama-server with a larger --ctx-size")
    if not found.completion_probabilities:
        raise UnreadableError("the server gives no log-probabilities: llama-server does (n_probs)")
    pairs = [(each.id, each.logprob) for each in found.completion_probabilities[0].top_logprobs]
    if len(pairs) >= probs and not set(ask.ids) <= {token for token, _ in pairs}:
        return None
    return Said(logprobs_of(pairs, ask.ids), found.tokens_evaluated, str(found.model))
