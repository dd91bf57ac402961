"""Limits of the guard: what it holds meanwhile, and what an upstream may send."""

from __future__ import annotations

import json
import time

import pytest

pytest.importorskip("fastapi", reason="fastapi is not installed: pip install 'recap-vlm[server]'")


from tests.server.callers import CALLER, Start, body, post
from tests.server.upstream import Upstream


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
