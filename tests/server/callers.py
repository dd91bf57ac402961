"""Who asks a guard: OpenAI's own client, and a plain one; and what they ask."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import httpx
import openai

from recap import Auditor
from recap.server.app import create_app
from recap.server.service import Service
from tests.server.upstream import Upstream, listening, served

SCENE, QUESTION = "world:whatsup/0032", "Is the crate on the suitcase?"
Start = Callable[..., tuple[str, Upstream]]
"""starts a guard before an upstream: its address, and what stands behind it"""

CALLER = httpx.Client(trust_env=False, timeout=20)
CLIENTS: dict[tuple[str, str], openai.OpenAI] = {}


@contextmanager
def guarded(auditor: Auditor, upstream: Upstream, **options: Any) -> Generator[str]:
    with listening(upstream), served(create_app(Service(auditor, upstream=upstream.root, **options))) as address:
        yield address


def client(address: str, key: str = "unused") -> openai.OpenAI:
    if (address, key) not in CLIENTS:
        made = openai.OpenAI(base_url=f"{address}/v1", api_key=key, max_retries=0, timeout=20)
        CLIENTS[address, key] = made
    return CLIENTS[address, key]


def hang_up() -> None:
    for each in (CALLER, *CLIENTS.values()):
        each.close()


def ask(url: str, question: str = QUESTION) -> list[Any]:
    picture = {"type": "image_url", "image_url": {"url": url}}
    return [{"role": "user", "content": [picture, {"type": "text", "text": question}]}]


def body(url: str, question: str = QUESTION, **more: Any) -> dict[str, Any]:
    return {"model": "scripted", "messages": ask(url, question)} | more


def post(address: str, document: Any, **headers: str) -> httpx.Response:
    content = document if isinstance(document, bytes) else json.dumps(document).encode()
    told = {"content-type": "application/json"} | headers
    return CALLER.post(f"{address}/v1/chat/completions", content=content, headers=told)


def skipped(found: httpx.Response) -> str:
    assert found.headers["x-recap"] == "skipped"
    return found.headers["x-recap-reason"]


def streamed(address: str, url: str, **more: Any) -> tuple[list[Any], list[float], Any]:
    raw = client(address).chat.completions.with_raw_response.create(
        model="scripted", messages=ask(url), stream=True, **more
    )
    found: list[Any] = []
    times: list[float] = []
    for chunk in raw.parse():
        times.append(time.monotonic())
        found.append(chunk)
    return found, times, raw.headers


def text_of(chunks: list[Any]) -> str:
    # As careless as most callers are: every chunk has a first choice with a delta.
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
