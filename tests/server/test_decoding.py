"""Pictures from strangers, decoded in processes of their own."""

from __future__ import annotations

import asyncio
import base64
import threading
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="fastapi is not installed: pip install 'recap-vlm[server]'")

from PIL import Image
from starlette.testclient import TestClient

from recap.audit import Auditor
from recap.errors import RecapError
from recap.server.app import create_app
from recap.server.intake.decoding import DecodePool, Size
from recap.server.service import Limits, Service
from recap.world.scheme import open_image
from tests.server import costly
from tests.server.callers import QUESTION


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
