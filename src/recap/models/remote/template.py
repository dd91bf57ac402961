"""A checkpoint's chat template, applied here: for servers that take a prompt and no messages."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

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
    config = _json(folder / CONFIG) if (folder / CONFIG).is_file() else {}
    tokens = {name: _text(config[name]) for name in ("bos_token", "eos_token", "pad_token") if config.get(name)}
    for file in (path,) if not path.is_dir() else (path / FILE, path / OLDER, path / CONFIG):
        if not file.is_file():
            continue
        found: Any = _json(file).get("chat_template") if file.suffix == ".json" else None
        if file.suffix != ".json":
            with reading(file, "chat template"):
                found = file.read_text("utf-8")
        if isinstance(found, str) and found:
            return Template(found, tokens)
    raise RecapError(f"{place}: there is no chat template here ({FILE}, or in {CONFIG})")


def _json(path: Path) -> dict[str, Any]:
    with reading(path, "tokenizer's settings"):
        text = path.read_text("utf-8")
    try:
        return dict(json.loads(text))
    except (ValueError, TypeError):
        raise RecapError(f"{path}: not a JSON object") from None


def _text(token: Any) -> str:
    return str(cast(dict[str, Any], token)["content"]) if isinstance(token, dict) else str(token)
