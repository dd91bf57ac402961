"""The guard before a real vLLM, asked by OpenAI's own client; the same vLLM is the auditing model."""

from __future__ import annotations

import base64
import io
from collections.abc import Generator
from dataclasses import replace
from typing import Any

import openai
import pytest
import transformers

from recap import Auditor
from recap.claims.answers import yes_or_no
from recap.models.remote.model import RemoteModel
from recap.policy import load_policy
from recap.server.app import create_app
from recap.server.service import REJECT_TEXT, OnReject, Service
from recap.world.bundled import policy_file
from recap.world.scheme import open_image
from tests.engine_server import asked
from tests.server.upstream import served
from tests.vllm.server import NAME, Vllm

pytestmark = pytest.mark.vllm
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()

CASES = [(f"world:whatsup/{n:04d}", text) for n in range(60, 66) for text in asked(n, many=3)]


@pytest.fixture(scope="module")
def auditor(vllm: Vllm) -> Auditor:
    policy = replace(load_policy(policy_file("world:aligned")), model=None)
    return Auditor(RemoteModel.load(vllm.address), policy)


def guarded(auditor: Auditor, vllm: Vllm, on_reject: OnReject) -> Generator[openai.OpenAI]:
    upstream = vllm.root
    with (
        served(create_app(Service(auditor, upstream=upstream, on_reject=on_reject))) as address,
        openai.OpenAI(base_url=f"{address}/v1", api_key="unused", max_retries=0, timeout=120) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def annotating(auditor: Auditor, vllm: Vllm) -> Generator[openai.OpenAI]:
    yield from guarded(auditor, vllm, "annotate")


@pytest.fixture(scope="module")
def replacing(auditor: Auditor, vllm: Vllm) -> Generator[openai.OpenAI]:
    yield from guarded(auditor, vllm, "replace")


def request(scene: str, question: str, **more: Any) -> dict[str, Any]:
    held = io.BytesIO()
    open_image(scene).save(held, "PNG")
    url = "data:image/png;base64," + base64.b64encode(held.getvalue()).decode()
    parts = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": question}]
    messages = [{"role": "user", "content": parts}]
    return {"model": NAME, "messages": messages, "max_tokens": 4, "temperature": 0} | more


def whole(client: openai.OpenAI, scene: str, question: str) -> tuple[str, Any, Any]:
    raw = client.chat.completions.with_raw_response.create(**request(scene, question))
    found: Any = raw.parse()
    return found.choices[0].message.content, getattr(found, "recap", None), raw.headers


def streamed(client: openai.OpenAI, scene: str, question: str) -> tuple[str, Any, Any]:
    raw = client.chat.completions.with_raw_response.create(**request(scene, question, stream=True))
    chunks: list[Any] = list(raw.parse())
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    audits = [chunk.recap for chunk in chunks if chunk.object == "recap.audit"]
    assert len(audits) <= 1
    return text, audits[0] if audits else None, raw.headers


def test_every_answer_comes_with_its_verdict_streamed_or_not(annotating: openai.OpenAI, auditor: Auditor) -> None:
    verdicts: set[str] = set()
    for scene, question in CASES:
        text, told, headers = whole(annotating, scene, question)
        own = auditor.audit(open_image(scene), question, yes_or_no(text))
        assert (told["accepted"], told["mode"], told["answer"]) == (own.accepted, own.mode, own.answer)
        assert told["risk"] == pytest.approx(own.risk, abs=1e-3)
        assert headers["x-recap"] == told["verdict"]
        again, streams, pending = streamed(annotating, scene, question)
        assert (again, streams["verdict"], pending["x-recap"]) == (text, told["verdict"], "pending")
        verdicts.add(told["verdict"])
    assert verdicts == {"accepted", "rejected"}


def test_a_rejected_answer_is_replaced_streamed_or_not(replacing: openai.OpenAI, auditor: Auditor) -> None:
    found = {ask: [ask(replacing, *case) for case in CASES] for ask in (whole, streamed)}
    for text, told, headers in (each for answers in found.values() for each in answers):
        assert headers["x-recap"] == told["verdict"]
        assert (text == REJECT_TEXT) == (told["verdict"] == "rejected")
        assert text == REJECT_TEXT or yes_or_no(text) == told["answer"]
    assert [told["verdict"] for _, told, _ in found[whole]] == [told["verdict"] for _, told, _ in found[streamed]]


def test_what_is_no_spatial_question_passes(annotating: openai.OpenAI) -> None:
    text, told, headers = whole(annotating, CASES[0][0], "Is the mug red?")
    assert text
    assert (told, headers["x-recap"]) == (None, "skipped")
    # A stream's header goes out before its answer is read: that it was passed over is the last event's word.
    text, told, headers = streamed(annotating, CASES[0][0], "Is the mug red?")
    assert text
    assert (told["verdict"], told["accepted"], headers["x-recap"]) == ("skipped", None, "pending")
    assert "no relation phrase" in told["reason"]
    assert [model.id for model in annotating.models.list()] == [NAME]


def test_vllms_own_errors_pass(annotating: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError):
        annotating.chat.completions.create(**request(*CASES[0], model="another"))
    with pytest.raises(openai.BadRequestError):
        annotating.chat.completions.create(**request(*CASES[0], temperature=-3))
