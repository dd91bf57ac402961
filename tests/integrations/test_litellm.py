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

from recap.errors import RecapError
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


def shown(data: str, question: str) -> list[dict[str, Any]]:
    """A question about a picture of these bytes, in base64."""
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
    return [{"role": "user", "content": [picture, {"type": "text", "text": question}]}]


def test_an_audit_that_cannot_be_made_is_the_hosts_own_kind_of_failure(given: list[Audited]) -> None:
    nobody = RecapGuardrail("http://127.0.0.1:9/v1")  # where no server is
    for data, reason in (
        ("AAAA", "not audited, so rejected: the audit could not be made"),
        ("%%%", "not audited, so rejected: the picture's data: URL does not hold base64"),
    ):
        asked: Any = SimpleNamespace(messages=shown(data, given[0].question))
        assert asyncio.run(through(RecapGuardrail(MODEL), asked, "Yes.")) == f"blocked: {reason}"
        assert asyncio.run(through(RecapGuardrail(MODEL, on_reject="replace"), asked, "Yes.")) == REJECT_TEXT
        assert asyncio.run(through(RecapGuardrail(MODEL, on_failure="pass"), asked, "Yes.")) == "Yes."
    told = asyncio.run(through(nobody, given[0], "Yes."))
    assert told == "blocked: not audited, so rejected: the audit could not be made"
    nothing: Any = SimpleNamespace(messages=[{"role": "user", "content": "Hello!"}])
    long = "Yes. " + "It is so. " * 3000
    assert asyncio.run(through(RecapGuardrail(MODEL), given[0], long)).startswith("blocked: not audited")
    assert asyncio.run(through(RecapGuardrail(MODEL), nothing, "Yes.")) == "Yes."


def test_a_block_says_whether_there_was_a_verdict(given: list[Audited]) -> None:
    rejected = next(each for each in given if each.verdict.accepted is False)
    for messages, judged in ((rejected.messages, True), (shown("AAAA", given[0].question), False)):
        inputs = {"texts": [f"{rejected.answer}."], "structured_messages": messages}
        with pytest.raises(GuardrailRaisedException) as raised:
            asyncio.run(RecapGuardrail(MODEL).apply_guardrail(inputs, {}, "response"))
        assert raised.value.blocked_content is judged


def test_options_are_checked_when_the_guardrail_is_made() -> None:
    for options, message in (
        ({"reject_when": "most"}, '"most" is no rule'),
        ({"reject_when": None}, '"None" is no rule'),
        ({"on_failure": "ignore"}, '"ignore" is not what can be done with an answer whose audit cannot be made'),
        ({"on_reject": "delete"}, '"delete" is not what can be done'),
        ({"reject_text": " "}, "reject_text is empty"),
    ):
        with pytest.raises(RecapError, match=message):
            RecapGuardrail(MODEL, **options)
    assert RecapGuardrail(MODEL, reject_when=0.5).rule.share == 0.5
