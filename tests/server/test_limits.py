"""Limits of the service: what is refused, what waits, and what is answered 503 instead of taking memory."""

from __future__ import annotations

import asyncio
import base64
import gc
import json
import os
import signal
import threading
import time
import weakref
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="fastapi is not installed: pip install 'recap-vlm[server]'")

from PIL import Image
from starlette.testclient import TestClient

from recap.audit import AuditCase, Auditor, Verdict
from recap.claims import default_graph
from recap.errors import RecapError
from recap.models.remote.client import UnreachableError
from recap.server.app import create_app
from recap.server.batching import Batcher
from recap.server.intake.budget import Budget, BusyError
from recap.server.intake.decoding import DecodePool, Size
from recap.server.intake.images import PictureOpener
from recap.server.service import Limits, Service
from recap.world.scheme import open_image
from tests.server import costly
from tests.server.callers import CALLER, QUESTION, SCENE, Start, body, post
from tests.server.upstream import Upstream

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


# Turns of the model


def case(name: str = SCENE, question: str = QUESTION) -> AuditCase:
    return AuditCase.of(open_image(SCENE), question, None, default_graph(), name=name)


class Failing:
    """A model whose turn fails whenever one of its questions is poisoned."""

    def __init__(self, auditor: Auditor, error: BaseException) -> None:
        self.inner, self.error, self.turns = auditor.model, error, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def margins(self, requests: Sequence[Any], prepared: Any = None) -> Any:
        self.turns += 1
        if any("poison" in question for request in requests for question in request.questions):
            raise self.error
        return self.inner.margins(requests, prepared)


class Panic(BaseException):
    """What a library in another language raises."""


@pytest.mark.parametrize("error", [ValueError("x"), Panic("x")])
def test_a_failed_turn_is_bisected_and_the_next_one_comes(auditor: Auditor, error: BaseException) -> None:
    async def run() -> None:
        model = Failing(auditor, error)
        batcher = Batcher(Auditor(model, auditor.policy), Limits())  # type: ignore[arg-type]
        await batcher.start()
        cases = [case(f"picture {n}") for n in range(15)] + [case("bad", "Is the poison on the suitcase?")]
        found = await batcher.audit(cases)
        assert all(isinstance(each, Verdict) for each in found[:-1])
        assert str(found[-1]) == "the model could not be asked about this picture"
        assert model.turns < 16  # all of them alone would be as many, and one more
        assert len(await batcher.audit([case()])) == 1
        assert batcher.trouble is None
        await batcher.close()
        assert batcher.trouble == "the model's turns have ended"

    asyncio.run(run())


def test_a_model_that_is_away_is_not_asked_again_for_every_half(auditor: Auditor) -> None:
    model = Failing(auditor, UnreachableError("nobody there, for 60 s"))
    batcher = Batcher(Auditor(model, auditor.policy), Limits())  # type: ignore[arg-type]
    found = batcher._audit_batch([case("bad", "Is the poison on the suitcase?"), *(case(f"{n}") for n in range(7))])
    assert all(isinstance(each, RecapError) for each in found)
    assert model.turns == 1


def test_nothing_holds_the_last_turns_pictures(auditor: Auditor) -> None:
    async def run() -> None:
        batcher = Batcher(auditor, Limits())
        await batcher.start()
        picture = open_image(SCENE)
        gone = weakref.ref(picture)
        await batcher.audit([AuditCase.of(picture, QUESTION, None, default_graph(), name="x")])
        del picture
        await asyncio.sleep(0.05)
        gc.collect()
        assert gone() is None
        await batcher.close()

    asyncio.run(run())


def test_ready_means_that_turns_workers_and_upstream_are_there(auditor: Auditor) -> None:
    app = create_app(Service(auditor, limits=Limits(turn_seconds=0.05)))
    with TestClient(app) as client:
        assert client.get("/readyz").status_code == 200
        batcher = next(
            each for each in gc.get_objects() if isinstance(each, Batcher) and each.limits.turn_seconds == 0.05
        )
        batcher.turn_began = time.perf_counter() - 1
        assert (client.get("/readyz").status_code, client.get("/readyz").text) == (503, "the model does not answer\n")
        batcher.turn_began = None
        for worker in app.state.pictures.pool._workers:
            os.kill(worker.process.pid, signal.SIGKILL)
        assert client.get("/readyz").status_code == 200  # they were replaced
        told = client.post("/v1/audit", content=costly.audits(costly.flat_webp(64)), headers=JSON)
        assert told.status_code == 200
    with TestClient(create_app(Service(auditor, upstream="http://127.0.0.1:9"))) as client:
        assert (client.get("/readyz").status_code, client.get("/readyz").text) == (
            503,
            "the upstream does not answer\n",
        )


# Workers


@pytest.fixture(scope="module")
def pool() -> Generator[DecodePool]:
    pool = DecodePool(Limits())
    yield pool
    pool.close()


def decode(pool: DecodePool, data: bytes, allow: int = 24_000_000) -> Image.Image | Size:
    return asyncio.run(pool.decode(data, "me", is_base64=False, allow=allow))


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (costly.many_scans(200, 512), "more than 100 scans"),
        (costly.many_exifs(20_000), "more than 1000 segments"),
        (costly.many_frames(3000), "it moves"),
        (costly.vast_tile(), "its tiles are far larger"),
        (costly.noisy_tags(), "not a JPEG"),
        (b"", "it is empty"),
    ],
    ids=["scans", "exif", "frames", "tile", "tags", "empty"],
)
def test_what_a_header_does_not_tell_is_refused_all_the_same(pool: DecodePool, data: bytes, problem: str) -> None:
    start = time.monotonic()
    with pytest.raises(RecapError, match=problem):
        decode(pool, data)
    assert time.monotonic() - start < 5


def test_a_picture_of_another_format_is_not_decoded_in_disguise(pool: DecodePool) -> None:
    opened = decode(pool, costly.disguised())
    assert isinstance(opened, Image.Image)
    assert opened.size == (8, 8)  # the WebP that it begins with, not the 768 × 512 of the PhotoCD in it


def test_a_worker_beyond_its_limits_is_ended_and_replaced(pool: DecodePool, monkeypatch: pytest.MonkeyPatch) -> None:
    large, before = costly.flat_webp(4800), pool.lost
    small = DecodePool(Limits(worker_bytes=300 << 20))
    with pytest.raises(RecapError, match="too much"):
        decode(small, large)
    assert isinstance(decode(small, costly.flat_webp(64)), Image.Image)
    small.close()
    hurried = DecodePool(Limits(decode_seconds=0.01))
    with pytest.raises(RecapError, match="too much time or memory"):
        decode(hurried, large)
    assert hurried.lost == 1
    hurried.close()
    monkeypatch.setenv("RECAP_TOKEN", "a-token-that-is-long-enough")
    assert isinstance(decode(pool, large), Image.Image)
    environment = Path(f"/proc/{pool._workers[0].process.pid}/environ").read_text()
    assert "RECAP_TOKEN" not in environment
    assert pool.lost == before


def test_cpu_time_ends_a_picture_that_takes_too_long(pool: DecodePool, monkeypatch: pytest.MonkeyPatch) -> None:
    # As many scans as are let through, over as many pixels: dear, but within what a header may say.
    slow, before = costly.many_scans(90, 4864), pool.lost
    start = time.process_time()
    try:
        decode(pool, slow)
    except RecapError as error:
        assert "too much time" in str(error)
        assert pool.lost == before + 1
    assert time.process_time() - start < 2  # none of it was ours
    assert isinstance(decode(pool, costly.flat_webp(64)), Image.Image)


def test_heavy_clients_leave_a_worker_to_the_others() -> None:
    async def run() -> list[str]:
        pool, order = DecodePool(Limits(workers=2)), list[str]()

        async def one(client: str) -> None:
            await pool.decode(costly.flat_webp(64), client, is_base64=False, allow=500_000)
            order.append(client)

        await one("heavy")
        pool._clients["heavy"].seconds = 100.0
        await asyncio.gather(*(one("heavy") for _ in range(6)), one("light"))
        pool.close()
        return order

    assert asyncio.run(run()).index("light") <= 2


# The guard


def test_a_guard_holds_no_pixels_while_its_upstream_works(
    guard: Start, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = list[int]()
    made = list[PictureOpener]()
    init = PictureOpener.__init__

    def noting(self: PictureOpener, limits: Limits) -> None:
        init(self, limits)
        made.append(self)

    monkeypatch.setattr(PictureOpener, "__init__", noting)

    def says(_: dict[str, Any]) -> str:
        seen.append(made[-1].held.used + made[-1].pool.memory.used)
        return "Yes."

    address, _ = guard(Upstream(says), limits=Limits())
    assert post(address, body(url)).headers["x-recap"] == "accepted"
    assert seen == [0]


def test_what_an_upstream_compresses_is_bounded(guard: Start, url: str) -> None:
    import gzip

    plain = json.dumps({"id": "x", "choices": [{"index": 0, "message": {"content": "Yes."}}]}).encode()
    for layers, coding, status in ((1, "gzip", 200), (2, "gzip, gzip", 502), (1, "br", 502)):
        data = plain
        for _ in range(layers):
            data = gzip.compress(data)
        address, _ = guard(Upstream(raw=(200, "application/json", data), headers={"Content-Encoding": coding}))
        found = post(address, body(url))
        assert found.status_code == status, found.text
    bomb = gzip.compress(bytes(64 << 20))
    address, _ = guard(Upstream(raw=(200, "application/json", bomb), headers={"Content-Encoding": "gzip"}))
    assert (post(address, body(url)).status_code, "more than" in post(address, body(url)).text) == (502, True)


def test_a_token_with_a_name_is_not_the_upstreams_business(guard: Start, url: str) -> None:
    address, behind = guard(Upstream(lambda _: "Yes."), tokens={"alice": "a-token-for-alice-1"})
    found = post(address, body(url), authorization="Bearer a-token-for-alice-1")
    assert found.status_code == 200
    assert "authorization" not in behind.last.headers


def test_odd_answers_of_an_upstream_end_in_an_answer(guard: Start, url: str) -> None:
    half = b'{"id": "\\ud800", "choices": [{"index": 0, "message": {"content": "No, \\ud83d"}, "finish_reason": "\\udfff"}]}'
    address, _ = guard(Upstream(raw=(200, "application/json", half)), on_reject="replace")
    assert post(address, body(url)).status_code == 200
    address, _ = guard(Upstream(raw=(799, "application/json", b"{}")))
    assert post(address, body(url)).status_code == 502
    events = (
        b"\n\n" * (1 << 20)
        + b'data: {"choices": [{"index": 0, "delta": {"content": "Yes."}}]}\n\n'
        + b"data: [DONE]\n\n"
    )
    for on_reject in ("annotate", "replace"):
        address, _ = guard(Upstream(raw=(200, "text/event-stream", events)), on_reject=on_reject)
        start = time.process_time()
        found = post(address, body(url, stream=True))
        assert '"verdict": "accepted"' in found.text
        assert time.process_time() - start < 3


def test_a_chat_of_very_many_parts_passes_unread(guard: Start, url: str) -> None:
    address, behind = guard(Upstream(lambda _: "Yes."))
    found = post(address, body(url, metadata=[[]] * 250_000))
    assert "too many parts" in found.headers["x-recap-reason"]
    assert len(behind.last.body) > 500_000
    assert CALLER.get(f"{address}/healthz").status_code == 200


def test_pictures_are_decoded_for_many_at_once(auditor: Auditor) -> None:
    """Every answer is about the picture that was sent, however many are decoded and audited together."""
    scenes = [f"world:whatsup/{n:04d}" for n in range(16)]
    encoded: list[str] = []
    for scene in scenes:
        import io

        stream = io.BytesIO()
        open_image(scene).save(stream, "PNG")
        encoded.append(base64.b64encode(stream.getvalue()).decode())
    with TestClient(create_app(Service(auditor))) as client:
        found: dict[int, Any] = {}

        def ask(n: int) -> None:
            found[n] = client.post("/v1/audit", json={"image": encoded[n], "question": QUESTION}).json()

        threads = [threading.Thread(target=ask, args=(n,)) for n in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for n, scene in enumerate(scenes):
            alone = client.post("/v1/audit", json={"image": scene, "question": QUESTION}).json()
            assert found[n]["probes"] == [
                each | {"margin": pytest.approx(each["margin"], abs=1e-3)} for each in alone["probes"]
            ]
