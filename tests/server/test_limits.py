"""Limits of the service: what is refused, what waits, and what is answered 503 instead of taking memory."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Generator

import pytest

pytest.importorskip("fastapi", reason="fastapi is not installed: pip install 'recap-vlm[server]'")

from starlette.testclient import TestClient

from recap.audit import Auditor
from recap.server.app import create_app
from recap.server.intake.budget import Budget, BusyError
from recap.server.service import Limits, Service
from tests.server import costly
from tests.server.callers import QUESTION, SCENE

JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def client(auditor: Auditor) -> Generator[TestClient]:
    with TestClient(create_app(Service(auditor))) as client:
        yield client


def test_pictures_of_one_request_are_refused_before_they_are_decoded(client: TestClient) -> None:
    pictures = [costly.flat_webp(4000 - n) for n in range(4)]
    start = time.monotonic()
    told = client.post("/v1/audit/batch", content=costly.audits(*pictures), headers=JSON)
    assert (told.status_code, told.json()["error"]) == (
        400,
        "image: the pictures of one request may have 30 million pixels together",
    )
    assert time.monotonic() - start < 5


def test_beyond_the_budget_the_answer_is_503_and_says_when_to_come_back(auditor: Auditor) -> None:
    limits = Limits(held_pixels=12_000_000, decoding_pixels=12_000_000, patience_seconds=0.2)
    app = create_app(Service(auditor, limits=limits))
    with TestClient(app) as client:
        app.state.pictures.held.free = 100_000
        told = client.post("/v1/audit", content=costly.audits(costly.flat_webp(64)), headers=JSON)
        assert (told.status_code, told.headers["retry-after"]) == (503, "1")
        app.state.pictures.held.free = limits.held_pixels
        assert client.post("/v1/audit", content=costly.audits(costly.flat_webp(64)), headers=JSON).status_code == 200
        assert app.state.pictures.held.used == 0


def test_a_budget_serves_small_requests_past_large_ones_and_loses_nothing() -> None:
    async def run() -> None:
        budget = Budget(160, 0.5, "too much")
        await budget.take(120)
        large = asyncio.create_task(budget.take(100))
        await asyncio.sleep(0)
        for _ in range(4):
            await budget.take(10)
        assert budget.free == 0
        waiting = asyncio.create_task(budget.take(10))
        await asyncio.sleep(0.01)
        assert not waiting.done()
        waiting.cancel()
        budget.give(140)
        await large
        assert budget.used == 120 + 40 + 100 - 140
        with pytest.raises(BusyError, match="too much"):
            await budget.take(100)
        with pytest.raises(BusyError, match="at all"):
            await budget.take(130)
        budget.give(120)
        assert budget.free == 160

    asyncio.run(run())


@pytest.mark.parametrize(
    ("path", "content", "status"),
    [
        ("/v1/parse", b'{"text": "' + b"x" * 9000 + b'"}', 413),
        ("/v1/parse", costly.wide_object(8 << 20), 413),
        ("/v1/audit", costly.wide_object(8 << 20), 413),
        ("/v1/audit/batch", costly.nested_lists(8 << 20), 413),
        ("/v1/audit", b'{"image": 5, "question": "a secret of the caller"}', 422),
    ],
)
def test_bodies_that_cost_more_than_they_are_worth_are_refused_cheaply(
    client: TestClient, path: str, content: bytes, status: int
) -> None:
    start = time.process_time()
    told = client.post(path, content=content, headers=JSON)
    assert told.status_code == status
    assert set(told.json()) == {"error"}
    assert "secret" not in told.text
    assert time.process_time() - start < 1.5


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "multipart/form-data; boundary=x"}, 415),
        (JSON | {"content-encoding": "gzip"}, 415),
        (JSON | {"origin": "https://evil.example"}, 403),
        (JSON | {"origin": "null"}, 403),
        (JSON | {"sec-fetch-site": "cross-site"}, 403),
        (JSON | {"sec-fetch-site": "same-site"}, 403),
        (JSON | {"origin": "http://testserver", "sec-fetch-site": "same-origin"}, 200),
        ({"content-type": "Application/JSON; charset=utf-8"}, 200),
    ],
)
def test_only_json_and_only_from_our_own_page(client: TestClient, headers: dict[str, str], status: int) -> None:
    content = json.dumps({"image": SCENE, "question": QUESTION}).encode()
    for path in ("/v1/audit", "/v1/parse"):
        sent = content if path == "/v1/audit" else json.dumps({"text": QUESTION}).encode()
        assert client.post(path, content=sent, headers=headers).status_code == status


def test_a_proxys_name_is_an_origin_of_ours(auditor: Auditor) -> None:
    with TestClient(create_app(Service(auditor, allowed_hosts=frozenset({"audits.example"})))) as client:
        headers = {"origin": "https://audits.example"}
        assert client.post("/v1/parse", json={"text": QUESTION}, headers=headers).status_code == 200


def test_the_largest_unfinished_body_gives_way(auditor: Auditor) -> None:
    from recap.server.intake.bodies import Bodies, _Body

    bodies = Bodies(Limits(bodies_bytes=1000, body_bytes=400))
    hostile, honest = [_Body("evil") for _ in range(3)], _Body("good")
    bodies._held |= {*hostile, honest}
    for each in hostile[:1]:
        bodies._grow(each, 400)
    bodies._grow(honest, 300)
    bodies._grow(hostile[1], 90)  # within its share of 500
    with pytest.raises(Exception, match="503"):
        bodies._grow(hostile[1], 450)  # beyond it: the larger of its own gives way, which is this one
    assert not honest.dropped.is_set()
