"""What the test servers answer with: a real model, one prompt at a time, every answer remembered."""

from __future__ import annotations

import base64
import hashlib
import io
import random
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import torch
import transformers
from PIL import Image

from recap.models.contract import Request
from recap.models.load import load_model
from recap.models.local import LocalModel
from recap.models.remote.handshake import encode
from recap.world.bundled import checkpoint_folder

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()


@dataclass
class Engine:
    """Log-probabilities of every token behind a prompt, by plain forwards of a bundled model."""

    name: str
    model: LocalModel
    lock: threading.Lock = field(default_factory=threading.Lock)
    known: dict[tuple[str, str], tuple[list[float], int]] = field(default_factory=dict)

    @property
    def prompter(self) -> Any:
        return self.model.prompter

    @property
    def folder(self) -> str:
        """Where the checkpoint's files lie."""
        return str(checkpoint_folder(self.name))

    def prompt(self, messages: list[dict[str, Any]], told: dict[str, Any] | None = None) -> str:
        """What a server makes of a request: transformers renders its messages with the checkpoint's template.

        `told` is the whole request. vLLM turns an `image_url` into an image item, and a plain text into a text item.
        """
        told = told or {}
        items = [
            [{"type": "text", "text": parts}]
            if isinstance(parts := message["content"], str)
            else [{"type": "image"} if part["type"] in ("image", "image_url") else part for part in parts]
            for message in messages
        ]
        conversation = [{"role": m["role"], "content": some} for m, some in zip(messages, items, strict=True)]
        return self.prompter.tokenizer.apply_chat_template(
            conversation,
            chat_template=getattr(self.prompter.processor, "chat_template", None),
            tokenize=False,
            add_generation_prompt=told.get("add_generation_prompt", True),
            continue_final_message=told.get("continue_final_message", False),
            **told.get("chat_template_kwargs", {}),
        )

    def tokens(self, text: str, special: bool = False) -> list[int]:
        return list(self.prompter.tokenizer(text, add_special_tokens=special)["input_ids"])

    def logprobs(self, prompt: str, png: bytes | None) -> tuple[list[float], int]:
        """All log-probabilities, and how long the prompt was."""
        key = (prompt, "" if png is None else hashlib.sha256(png).hexdigest())
        with self.lock:
            if key not in self.known:
                self.known[key] = self._forward(prompt, png)
            return self.known[key]

    def _forward(self, prompt: str, png: bytes | None) -> tuple[list[float], int]:
        scorer = self.model.scorer
        if png is None:
            encoded = {"input_ids": torch.tensor([self.tokens(prompt)])}
        else:
            encoded = self.prompter.encode([prompt], [Image.open(io.BytesIO(png)).convert("RGB")])
        with torch.inference_mode():
            logits = scorer.model(**encoded).logits[0, -1]
        return torch.log_softmax(logits.float(), -1).tolist(), encoded["input_ids"].shape[1]


class Teaching:
    """The local model; what it answers, the engine knows by heart. Its tree answers many times faster than the engine."""

    def __init__(self, taught: Engine) -> None:
        self.taught = taught

    def __getattr__(self, name: str) -> Any:
        return getattr(self.taught.model, name)

    def margins(self, requests: Sequence[Request], prepared: Any = None) -> list[list[float]]:
        found = self.taught.model.margins(requests, prepared)
        yes, no = (ids[0] for ids in self.taught.prompter.answers)
        for request, margins in zip(requests, found, strict=True):
            png = None if request.image is None else base64.b64decode(encode(request.image).base64)
            for question, margin in zip(request.questions, margins, strict=True):
                prompt = self.taught.prompter.prompt(question, png is not None)
                values = torch.full((len(self.taught.prompter.tokenizer),), -30.0, dtype=torch.float64)
                values[yes], values[no] = margin / 2, -margin / 2
                key = (prompt, "" if png is None else hashlib.sha256(png).hexdigest())
                length = len(self.taught.tokens(prompt)) + 63 * (png is not None)
                self.taught.known[key] = torch.log_softmax(values, -1).tolist(), length
        return found


class Dealt(Engine):
    """The same prompts and tokens; the log-probabilities are dealt by the prompt's own bytes. For tests about time."""

    def _forward(self, prompt: str, png: bytes | None) -> tuple[list[float], int]:
        dice = random.Random(prompt.encode() + (png or b""))
        values = torch.tensor([dice.gauss(0, 2) for _ in range(len(self.prompter.tokenizer))])
        return torch.log_softmax(values, -1).tolist(), len(self.tokens(prompt)) + 64 * (png is not None)


@lru_cache(maxsize=2)
def engine(name: str = "world:aligned") -> Engine:
    return Engine(name, load_model(name))


def png_of(uri: str) -> bytes:
    return base64.b64decode(uri.rpartition(",")[2])
