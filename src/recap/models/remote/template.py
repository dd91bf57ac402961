"""A checkpoint's chat template, applied here: for servers that take a prompt and no messages."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recap.errors import RecapError
from recap.files import reading

FILE, CONFIG, OLDER = "chat_template.jinja", "tokenizer_config.json", "chat_template.json"


@dataclass(frozen=True)
class Template:
    """What turns a question into a prompt."""

    source: str
    tokens: dict[str, str]
    """the tokenizer's special tokens, which templates name"""

    def prompt(self, question: str, with_image: bool) -> str:
        """The prompt up to where the assistant answers: one user message, the image item first."""
        import jinja2
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        def raise_exception(message: str) -> None:
            raise jinja2.TemplateError(message)

        # The settings that transformers renders chat templates with.
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
        )
        content = [{"type": "image"}] * with_image + [{"type": "text", "text": question}]
        try:
            return environment.from_string(self.source).render(
                messages=[{"role": "user", "content": content}],
                add_generation_prompt=True,
                raise_exception=raise_exception,
                **self.tokens,
            )
        except jinja2.TemplateError as error:
            raise RecapError(f"the chat template refuses a question: {error}") from None


def load_template(place: str) -> Template:
    """From a checkpoint's folder, or from a template file beside which its tokenizer_config.json lies."""
    path = Path(place)
    folder = path if path.is_dir() else path.parent
    config = _read(folder / CONFIG)
    named: dict[str, Any] = {name: config[name] for name in ("bos_token", "eos_token", "pad_token") if config.get(name)}
    tokens = {name: token if isinstance(token, str) else str(token["content"]) for name, token in named.items()}
    for file in (path,) if folder != path else (path / FILE, path / OLDER, path / CONFIG):
        source = _read(file).get("chat_template")
        if isinstance(source, str) and source:
            return Template(source, tokens)
    raise RecapError(f"{place}: there is no chat template here ({FILE}, or in {CONFIG})")


def _read(path: Path) -> dict[str, Any]:
    """A JSON object, or a template by itself as the object that it would be in; nothing where there is no file."""
    if not path.is_file():
        return {}
    with reading(path, "chat template"):
        text = path.read_text("utf-8")
    try:
        return dict(json.loads(text)) if path.suffix == ".json" else {"chat_template": text}
    except (ValueError, TypeError):
        raise RecapError(f"{path}: not a JSON object") from None
