"""LiteLLM's own client calls a running service, and its own hooks call the guardrail in the process."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Generator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from litellm import ModelResponse
from litellm.exceptions import GuardrailRaisedException
from litellm.llms.openai.chat.guardrail_translation.handler import OpenAIChatCompletionsHandler
from litellm.proxy.guardrails.guardrail_hooks.generic_guardrail_api.generic_guardrail_api import (
    GenericGuardrailAPI,
)

from recap.integrations.litellm import RecapGuardrail
from recap.server.service import REJECT_TEXT
from tests.integrations.conftest import MODEL, Audited
from tests.server.running import serving

pytestmark = pytest.mark.integrations

TOKEN = "a-token-for-this-test-alone"


def answered(text: str) -> ModelResponse:
    return ModelResponse(
        id="chatcmpl-1", choices=[{"index": 0, "message": {"role": "assistant", "content": text}}], model="m"
    )


async def through(guardrail: Any, each: Audited, text: str) -> str:
    """The answer as LiteLLM's proxy gives it out, before and after the call: its text, or why it is blocked."""
    data: dict[str, Any] = {"messages": each.messages, "model": "m"}
    call = SimpleNamespace(
        litellm_call_id=str(uuid.uuid4()), litellm_trace_id=None, model_call_details={}, dynamic_success_callbacks=[]
    )
    handler = OpenAIChatCompletionsHandler()
    try:
        data = await handler.process_input_messages(data, guardrail, call)
        response = await handler.process_output_response(answered(text), guardrail, call, None, data)
    except GuardrailRaisedException as error:
        return f"blocked: {error.message}"
    return response.choices[0].message.content


@pytest.fixture(scope="module")
def service() -> Generator[str]:
    with serving("--model", MODEL, RECAP_TOKEN=TOKEN) as server:
        yield server.url


def of_the_service(address: str, **options: Any) -> GenericGuardrailAPI:
    return GenericGuardrailAPI(
        api_base=address, headers={"Authorization": f"Bearer {TOKEN}"}, guardrail_name="recap", **options
    )


async def all_through(guardrail: Any, given: list[Audited]) -> list[str]:
    return [await through(guardrail, each, f"{each.answer.capitalize()}.") for each in given]


def test_the_service_gives_the_auditors_verdict_on_200_answers(service: str, given: list[Audited]) -> None:
    found = asyncio.run(all_through(of_the_service(service), given))
    for each, text in zip(given, found, strict=True):
        assert text.startswith("blocked: rejected: ") is (each.verdict.accepted is False), each
        assert each.verdict.accepted is False or text == f"{each.answer.capitalize()}."


def test_the_guardrail_in_the_process_gives_the_auditors_verdict_on_200_answers(given: list[Audited]) -> None:
    found = asyncio.run(all_through(RecapGuardrail(MODEL, on_reject="replace"), given))
    for each, text in zip(given, found, strict=True):
        expected = REJECT_TEXT if each.verdict.accepted is False else f"{each.answer.capitalize()}."
        assert text == expected, each


def test_a_rejected_answer_is_replaced_where_that_is_wished(service: str, given: list[Audited]) -> None:
    wished = of_the_service(service, additional_provider_specific_params={"on_reject": "replace"})
    rejected = next(each for each in given if each.verdict.accepted is False)
    assert asyncio.run(through(wished, rejected, f"{rejected.answer}.")) == REJECT_TEXT


def test_the_proxy_finds_the_guardrail_by_its_module(given: list[Audited], tmp_path: Path) -> None:
    from litellm.proxy.types_utils.utils import get_instance_fn

    made = get_instance_fn("recap.integrations.litellm.RecapGuardrail", str(tmp_path / "config.yaml"))
    # What the proxy hands over: the configuration's options beside the name and the mode.
    guardrail = made(guardrail_name="spatial", event_hook="post_call", default_on=True, model=MODEL)
    assert isinstance(guardrail, RecapGuardrail)
    rejected = next(each for each in given if each.verdict.accepted is False)
    assert asyncio.run(through(guardrail, rejected, f"{rejected.answer}.")).startswith("blocked: rejected: ")


def test_the_token_is_required(service: str, given: list[Audited]) -> None:
    with pytest.raises(Exception, match="401"):
        asyncio.run(through(GenericGuardrailAPI(api_base=service, guardrail_name="recap"), given[0], "Yes."))
