"""Pictures that the guard opens while its upstream works: from what nobody else uses, and never for long."""

from __future__ import annotations

import asyncio
import base64
import threading
import time
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import httpx
import pytest

pytest.importorskip("fastapi", reason="fastapi is not installed: pip install 'recap-vlm[server]'")

from recap.audit import Auditor
from recap.server.app import create_app
from recap.server.intake.ahead import Look
from recap.server.intake.encoded import InputImage
from recap.server.intake.images import PictureOpener
from recap.server.service import Limits, Service
from tests.server import costly
from tests.server.callers import CALLER, QUESTION, body, post, streamed
from tests.server.upstream import Upstream, listening, pieces, served

Begin = Callable[..., tuple[str, PictureOpener]]


def data_url(data: bytes) -> str:
    return "data:image/webp;base64," + base64.b64encode(data).decode()


def until(holds: Callable[[], bool], seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.005)


@pytest.fixture
def begin(auditor: Auditor) -> Generator[Begin]:
    """A guard before an upstream, and what opens its pictures."""
    with ExitStack() as stack:

        def start(upstream: Upstream, **options: Any) -> tuple[str, PictureOpener]:
            stack.enter_context(listening(upstream))
            app = create_app(Service(options.pop("auditor", auditor), upstream=upstream.root, **options))
            return stack.enter_context(served(app)), app.state.pictures

        yield start


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """For whom pictures were decoded in the audits' own processes."""
    from recap.server.intake.decoding import DecodePool

    clients, plain = list[str](), DecodePool.decode

    async def noting(self: DecodePool, data: bytes, client: str, **options: Any) -> Any:
        clients.append(client)
        return await plain(self, data, client, **options)

    monkeypatch.setattr(DecodePool, "decode", noting)
    return clients


def run(work: Callable[[PictureOpener], Awaitable[None]], limits: Limits | None = None) -> None:
    async def whole() -> None:
        pictures = PictureOpener(limits or Limits())
        try:
            await work(pictures)
        finally:
            await asyncio.to_thread(pictures.close)

    asyncio.run(whole())


async def opened(pictures: PictureOpener, text: str) -> Any:
    """A picture that was opened ahead, as far as it was."""
    picture = pictures.ahead.begin(text)
    if picture is not None and picture.opening is not None:
        await picture.opening
    return picture


def test_a_picture_is_open_before_its_answer_has_come(begin: Begin, url: str, decoded: list[str]) -> None:
    held = list[int]()

    def says(_: dict[str, Any]) -> str:
        until(lambda: bool(pictures.ahead.pixels) and not pictures.ahead.busy)
        held.append(pictures.held.used)
        return "Yes."

    address, pictures = begin(Upstream(says))
    found = post(address, body(url))
    assert found.headers["x-recap"] == "accepted"
    assert 0 < held[0] < pictures.limits.small_pixels  # as many as it has, and no more
    assert decoded == []  # the audit found it open
    assert (len(pictures.ahead), pictures.held.used) == (0, 0)
    with_none, _ = begin(Upstream(lambda _: "Yes."), limits=Limits(ahead=0))
    assert post(with_none, body(url)).json() == found.json()
    assert decoded == ["the guard"]


@pytest.mark.parametrize("on_reject", ["annotate", "replace"])
def test_streams_are_audited_with_it(begin: Begin, url: str, decoded: list[str], on_reject: Any) -> None:
    def stream(_: dict[str, Any]) -> list[bytes]:
        until(lambda: bool(pictures.ahead.pixels) and not pictures.ahead.busy)
        return pieces("Yes, the crate is on it.")

    address, pictures = begin(Upstream(stream=stream), on_reject=on_reject)
    chunks, _, _ = streamed(address, url)
    assert chunks[-1].recap["verdict"] == "accepted"
    assert decoded == []
    until(lambda: (len(pictures.ahead), pictures.held.used) == (0, 0))


@pytest.mark.parametrize("stream", [False, True])
def test_nothing_is_kept_where_there_is_nothing_to_audit(begin: Begin, url: str, stream: bool) -> None:
    upstream = Upstream(lambda _: "What a nice day.", pause=0.02)
    address, pictures = begin(upstream)
    assert "skipped" in post(address, body(url, stream=stream)).text or not stream
    until(lambda: (len(pictures.ahead), pictures.held.used) == (0, 0))
    upstream.raw = (500, "application/json", b"{}")
    assert post(address, body(url)).status_code == 500
    until(lambda: (len(pictures.ahead), pictures.held.used) == (0, 0))


@pytest.mark.parametrize("stream", [False, True])
def test_nothing_is_kept_for_a_client_that_has_gone(begin: Begin, url: str, stream: bool) -> None:
    upstream = Upstream(lambda _: "Yes, the crate is on the suitcase.", pause=0.5)
    address, pictures = begin(upstream)
    with httpx.Client(trust_env=False, timeout=10) as client:
        asked = body(url, stream=stream)
        if stream:
            with client.stream("POST", f"{address}/v1/chat/completions", json=asked) as answer:
                parts = answer.iter_raw()
                assert next(parts)
                assert len(pictures.ahead) == 1
        else:
            with pytest.raises(httpx.ReadTimeout):
                client.post(f"{address}/v1/chat/completions", json=asked, timeout=0.3)
    until(lambda: (len(pictures.ahead), pictures.held.used, pictures.pool.memory.used) == (0, 0, 0), 3)


@pytest.mark.parametrize("answer", ["What a nice day.", "Yes."])
@pytest.mark.parametrize(
    "picture",
    ["data:image/png;base64,AAAA", "data:image/png;base64,***", "data:text/plain,x", data_url(costly.flat_webp(5000))],
    ids=["broken", "no base64", "no picture", "too large"],
)
def test_a_broken_picture_is_told_of_as_before(begin: Begin, answer: str, picture: str) -> None:
    found = [
        post(begin(Upstream(lambda _: answer, pause=0.05), limits=limits)[0], body(picture))
        for limits in (Limits(ahead=0), Limits())
    ]
    assert found[0].headers["x-recap"] == "skipped"
    told = [(each.status_code, each.content, each.headers["x-recap"], each.headers["x-recap-reason"]) for each in found]
    assert told[0] == told[1]


def test_what_is_no_data_url_is_never_opened(begin: Begin) -> None:
    fetched = Upstream()
    with listening(fetched):
        address, pictures = begin(Upstream(lambda _: "Yes.", pause=0.05))
        for picture in (f"{fetched.root}/picture.png", "world:whatsup/0032", "/etc/passwd", "file:///etc/passwd"):
            found = post(address, body(picture))
            assert "not a data: URL" in found.headers["x-recap-reason"]
        assert fetched.seen == []
    assert pictures.ahead._worker is None  # nothing was given to it


def test_a_busy_pool_is_left_alone(url: str) -> None:
    async def work(pictures: PictureOpener) -> None:
        large = costly.flat_webp(4800)
        real = asyncio.create_task(pictures.pool.decode(large, "somebody", is_base64=False, allow=24_000_000))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not pictures.pool.idle
        assert pictures.ahead.begin(url) is None
        await real
        assert pictures.pool.idle
        found = await opened(pictures, url)
        assert isinstance(found.found, InputImage)
        found.close()
        assert pictures.held.used == 0

    run(work)


def test_a_second_picture_does_not_wait_for_the_first(url: str) -> None:
    async def work(pictures: PictureOpener) -> None:
        first = pictures.ahead.begin(url)
        assert first is not None
        assert pictures.ahead.begin(url) is None
        async with pictures.opened_one(url, "me", first) as found:
            assert isinstance(found, InputImage)
            assert pictures.held.used == found.pixels

    run(work)


def test_few_pictures_are_kept_however_many_are_asked_about(url: str) -> None:
    async def work(pictures: PictureOpener) -> None:
        most, kept = 0, list[Any]()
        for text in [data_url(costly.flat_webp(2400))] * 60 + [url] * 500:
            kept.append(await opened(pictures, text))
            most = max(most, pictures.ahead.pixels)
            assert pictures.ahead.pixels == pictures.held.used <= pictures.limits.ahead_pixels
            assert len(pictures.ahead) <= pictures.limits.ahead
        assert most > 2 * 2400**2
        assert len(pictures.ahead) == pictures.limits.ahead
        for each in filter(None, kept):
            each.close()
        assert (pictures.held.used, pictures.pool.memory.used, len(pictures.ahead)) == (0, 0, 0)

    run(work)


def test_a_burst_before_a_slow_upstream_holds_few(begin: Begin) -> None:
    gate = threading.Event()

    def says(_: dict[str, Any]) -> str:
        gate.wait(20)
        return "What a nice day."

    upstream = Upstream(says)
    address, pictures = begin(upstream, limits=Limits(ahead=4))
    asked = body(data_url(costly.flat_webp(2000)))
    with ThreadPoolExecutor(60) as threads:
        waiting = [threads.submit(CALLER.post, f"{address}/v1/chat/completions", json=asked) for _ in range(60)]
        until(lambda: len(upstream.seen) == 60)
        until(lambda: not pictures.ahead.busy)
        assert 0 < len(pictures.ahead) <= 4
        assert pictures.held.used == pictures.ahead.pixels <= 4 * 2000**2
        gate.set()
        assert {each.result().headers["x-recap"] for each in waiting} == {"skipped"}
    until(lambda: (len(pictures.ahead), pictures.held.used) == (0, 0))


def test_who_needs_the_room_has_it_at_once(url: str) -> None:
    async def work(pictures: PictureOpener) -> None:
        kept = [await opened(pictures, data_url(costly.flat_webp(2000))) for _ in range(3)]
        assert pictures.held.used == 3 * 2000**2
        start = time.monotonic()
        await pictures.held.take(36_000_000)  # all that large pictures may have
        assert time.monotonic() - start < 0.5
        assert await kept[0].take() is None
        assert len(pictures.ahead) == 0
        waiting = asyncio.create_task(pictures.held.take(30_000_000))
        await asyncio.sleep(0)
        assert pictures.ahead.begin(url) is None  # somebody waits
        pictures.held.give(36_000_000)
        await waiting
        assert await opened(pictures, url) is not None

    run(work)


def test_who_needs_to_decode_does_not_wait_for_what_may_not_be_needed() -> None:
    async def work(pictures: PictureOpener) -> None:
        # As many scans as are let through: seconds of work, if nobody needs the room.
        slow = data_url(costly.many_scans(90, 3900))
        picture = pictures.ahead.begin(slow)
        assert picture is not None
        while pictures.pool.memory.used < 3900**2:
            await asyncio.sleep(0.002)
        start = time.monotonic()
        found = await pictures.pool.decode(costly.flat_webp(4800), "me", is_base64=False, allow=24_000_000)
        assert found.size == (4800, 4800)
        assert time.monotonic() - start < 3
        assert await picture.take() is None
        assert (pictures.held.used, pictures.pool.memory.used, len(pictures.ahead)) == (0, 0, 0)

    run(work)


def test_an_answer_that_does_not_end_keeps_no_picture_for_ever(url: str) -> None:
    async def work(pictures: PictureOpener) -> None:
        picture = await opened(pictures, url)
        assert pictures.held.used
        while pictures.held.used:
            await asyncio.sleep(0.01)
        async with pictures.opened_one(url, "me", picture) as found:  # opened as any other, then
            assert isinstance(found, InputImage)

    run(work, Limits(ahead_seconds=0.2))


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """In which threads pictures were measured."""
    from recap.models.domain import features

    threads, plain = list[str](), features.pooled

    def noting(*args: Any) -> Any:
        threads.append(threading.current_thread().name.rpartition("_")[0])
        return plain(*args)

    monkeypatch.setattr(features, "pooled", noting)
    return threads


def test_how_strange_a_picture_is_is_known_by_then(begin: Begin, url: str, measured: list[str]) -> None:
    def says(_: dict[str, Any]) -> str:
        until(lambda: not pictures.ahead.busy)
        return "Yes."

    address, pictures = begin(Upstream(says))
    first = post(address, body(url))
    assert measured == ["decode-ahead"]  # once, and not in the model's turn
    pictures.ahead.limits = Limits(ahead=0)
    assert post(address, body(url)).json() == first.json()
    assert measured == ["decode-ahead", "model"]


def test_once_the_answer_is_there_nothing_more_is_begun(url: str) -> None:
    async def work(pictures: PictureOpener) -> None:
        for hurried, strangeness in ((False, {"somebody": 0.5}), (True, {})):
            picture = pictures.ahead.begin(url, Look(lambda _: {"somebody": 0.5}, lambda: True))
            assert picture is not None
            picture.hurried = hurried
            async with pictures.opened_one(url, "me", picture) as found:
                assert isinstance(found, InputImage)
                assert found.strangeness == strangeness

    run(work)


def test_a_busy_model_is_left_alone(begin: Begin, url: str, measured: list[str], auditor: Auditor) -> None:
    going, done = threading.Event(), threading.Event()

    def says(_: dict[str, Any]) -> str:
        until(lambda: not pictures.ahead.busy)
        done.set()
        return "Yes."

    class Slow(Auditor):
        def audit_many(self, cases: Any) -> Any:
            if not going.is_set():
                going.set()
                done.wait(10)
            return super().audit_many(cases)

    slow = Slow(auditor.model, auditor.policy, auditor.graph, domain=auditor.domain)
    address, pictures = begin(Upstream(says), auditor=slow)
    with ThreadPoolExecutor(1) as threads:
        real = threads.submit(CALLER.post, f"{address}/v1/audit", json={"image": url, "question": QUESTION})
        going.wait(10)
        assert post(address, body(url)).headers["x-recap"] == "accepted"
        assert real.result().status_code == 200
    assert set(measured) == {"model"}
