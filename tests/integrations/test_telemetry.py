"""OpenTelemetry's own SDK receives the events of a service and of a guard."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from opentelemetry import _logs
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor

from recap import Auditor
from recap.server.app import create_app
from recap.server.service import Service
from tests.integrations.conftest import Audited
from tests.server.upstream import Upstream, listening, served

pytestmark = pytest.mark.integrations

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture(scope="module")
def exporter() -> InMemoryLogRecordExporter:
    kept = InMemoryLogRecordExporter()
    provider = LoggerProvider()
    provider.add_log_record_processor(SimpleLogRecordProcessor(kept))
    _logs.set_logger_provider(provider)
    return kept


@pytest.fixture
def records(exporter: InMemoryLogRecordExporter) -> InMemoryLogRecordExporter:
    exporter.clear()
    return exporter


def told(records: InMemoryLogRecordExporter) -> list[Any]:
    return [each.log_record for each in records.get_finished_logs()]


def test_every_verdict_of_the_service_is_an_event_of_the_callers_trace(
    records: InMemoryLogRecordExporter, auditor: Auditor, given: list[Audited]
) -> None:
    with served(create_app(Service(auditor))) as address:
        for start in range(0, 200, 10):
            some = given[start : start + 10]
            audits = [{"image": each.image, "question": each.question, "answer": each.answer} for each in some]
            found = httpx.post(f"{address}/v1/audit/batch", json={"audits": audits}, headers={"traceparent": TRACE})
            assert found.status_code == 200, found.text
    events = told(records)
    assert len(events) == 200
    for event, each in zip(events, given, strict=True):
        assert event.event_name == "gen_ai.evaluation.result"
        assert f"{event.trace_id:032x}" == TRACE.split("-")[1]
        assert event.attributes["gen_ai.evaluation.name"] == "recap"
        assert event.attributes["gen_ai.evaluation.score.label"] == each.verdict.word, each
        if each.verdict.risk is not None:
            assert event.attributes["gen_ai.evaluation.score.value"] == pytest.approx(each.verdict.risk, abs=1e-4)
        # What was asked is not told unless the operator wants that.
        assert "gen_ai.evaluation.explanation" not in event.attributes


def test_the_guard_names_the_response_and_its_reason_where_questions_are_logged(
    records: InMemoryLogRecordExporter, auditor: Auditor, given: list[Audited]
) -> None:
    each = given[0]
    upstream = Upstream(lambda _: each.answer.capitalize() + ".")
    with (
        listening(upstream),
        served(create_app(Service(auditor, upstream=upstream.root, log_questions=True))) as address,
    ):
        body = {"model": "scripted", "messages": each.messages}
        found = httpx.post(f"{address}/v1/chat/completions", json=body)
        assert found.status_code == 200
    [event] = told(records)
    assert event.attributes["gen_ai.response.id"] == found.json()["id"]
    assert event.attributes["gen_ai.evaluation.score.label"] == each.verdict.word
    assert event.attributes["gen_ai.evaluation.explanation"].startswith(f"{each.verdict.word}: ")
