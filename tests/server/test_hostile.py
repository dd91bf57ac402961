"""A server among strangers: every hostile request ends in a clear 4xx, memory stays, the server lives."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.server.hostile import JSON, QUESTION, bodies
from tests.server.running import Running, serving

pytestmark = pytest.mark.server

LEAKS = re.compile(
    r"Traceback|/(home|tmp|usr|root|work|proc|etc)/|site-packages|\.py\b|0x[0-9a-f]{6,}|PIL\.|pydantic|starlette", re.I
)


@pytest.fixture(scope="module")
def server() -> Generator[Running]:
    with serving() as running:
        yield running


def test_every_hostile_body_ends_in_a_clear_refusal(server: Running) -> None:
    cases = list(bodies())
    assert len(cases) >= 150
    with httpx.Client(base_url=server.url, timeout=60) as client:
        client.post("/v1/audit", json={"image": "world:whatsup/0001", "question": QUESTION})
        before = server.memory
        wrong: list[str] = []
        for what, body, headers in cases:
            answer = client.post("/v1/audit", content=body, headers=headers)
            told = answer.json() if answer.headers["content-type"] == "application/json" else {}
            error = told.get("error", "")
            leaked = LEAKS.search(error)
            own = leaked is not None and leaked[0].encode() in body  # the stranger's own words, given back
            clear = set(told) == {"error"} and 0 < len(error) <= 400 and "\n" not in error and (own or not leaked)
            if not 400 <= answer.status_code < 500 or not clear:
                wrong.append(f"{what}: {answer.status_code} {answer.text[:160]}")
        assert not wrong, "\n".join(wrong)
        assert client.post("/v1/audit", json={"image": "world:whatsup/0001", "question": QUESTION}).status_code == 200
    assert server.memory - before < 300 << 20
    assert server.alive


def test_other_places_refuse_too(server: Running) -> None:
    with httpx.Client(base_url=server.url, timeout=30) as client:
        for method, path, body in (
            ("GET", "/v1/audit", None), ("PUT", "/v1/audit", b"{}"), ("POST", "/v1/nothing", b"{}"),
            ("GET", "/../../etc/passwd", None), ("GET", "/%2e%2e/%2e%2e/etc/passwd", None), ("GET", "/v1/scenes/..%2f..%2fx/picture", None),
            ("POST", "/v1/audit/batch", b'{"audits": []}'), ("POST", "/v1/audit/batch", json.dumps({"audits": [{"image": "world:whatsup/0001", "question": QUESTION}] * 65}).encode()),
            ("POST", "/v1/audit/batch", json.dumps({"audits": [{"image": f"world:whatsup/{i:04d}", "question": QUESTION} for i in range(17)]}).encode()),
            ("POST", "/v1/parse", b'{"text": ""}'), ("POST", "/v1/parse", b'{"text": "nothing spatial"}'), ("TRACE", "/v1/audit", None),
        ):  # fmt: skip
            answer = client.request(method, path, content=body, headers=JSON)
            assert 400 <= answer.status_code < 500, (method, path, answer.status_code)
            assert not LEAKS.search(answer.text), answer.text


def test_a_batch_tells_each_what_was_wrong_with_it(server: Running) -> None:
    audits = [
        {"image": "world:whatsup/0001", "question": QUESTION},
        {"image": "http://x/y", "question": QUESTION},
        {"image": "world:whatsup/0001", "question": "Is it nice?"},
    ]
    told = httpx.post(f"{server.url}/v1/audit/batch", json={"audits": audits}, timeout=60).json()["verdicts"]
    assert told[0]["answer"] in ("yes", "no")
    assert "addresses are not fetched" in told[1]["error"]
    assert "no spatial relation" in told[2]["error"]


def raw(server: Running, data: bytes, wait: float = 30) -> bytes:
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=wait) as line:
        found = b""
        try:
            line.sendall(data)
            while part := line.recv(65536):
                found += part
        except (ConnectionResetError, BrokenPipeError):
            return found or b"HTTP/1.1 413 cut off\r\n"  # a server may hang up on those who do not stop
        return found


def test_lying_and_oversized_bodies_and_headers_are_refused(server: Running) -> None:
    head = b"POST /v1/audit HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    assert b" 413 " in raw(server, head + b"Content-Length: 999999999999\r\n\r\n{}").split(b"\r\n")[0]
    assert b" 4" in raw(server, head + b"Content-Length: -5\r\n\r\n{}").split(b"\r\n")[0]
    assert b" 4" in raw(server, head + b"Content-Length: 2\r\nContent-Length: 5\r\n\r\n{}").split(b"\r\n")[0]
    assert (
        b" 4"
        in raw(server, b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 200_000 + b"\r\n\r\n").split(b"\r\n")[0]
    )
    assert b" 4" in raw(server, b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1").split(b"\r\n")[0]
    chunked = head + b"Transfer-Encoding: chunked\r\n\r\n" + (b"100000\r\n" + b"a" * 0x100000 + b"\r\n") * 26
    assert b" 413 " in raw(server, chunked).split(b"\r\n")[0]
    assert server.alive


def test_a_large_body_is_refused_in_words_to_a_client_that_sends_all_of_it_first(server: Running) -> None:
    answer = httpx.post(f"{server.url}/v1/audit", content=b"x" * (40 << 20), headers=JSON, timeout=60)
    assert (answer.status_code, answer.json()) == (413, {"error": "the body may have at most 24 MiB"})


def test_a_page_that_calls_us_by_its_own_name_gets_nothing(server: Running) -> None:
    for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "[::1", "", "a@localhost:9@x"):
        answer = httpx.get(f"{server.url}/v1/policy", headers={"host": host}, timeout=30)
        assert answer.status_code == 421, host
        assert set(answer.json()) == {"error"}
    for host in ("localhost", "LOCALHOST:1", "127.0.0.1:99", "[::1]:80"):
        assert httpx.get(f"{server.url}/v1/policy", headers={"host": host}, timeout=30).status_code == 200, host
    with serving("--allow-host", "audits.example") as named:
        headers = {"host": "audits.example"}
        assert httpx.get(f"{named.url}/v1/policy", headers=headers, timeout=30).status_code == 200


def test_a_body_that_never_ends_is_given_up_and_holds_nobody_up(server: Running) -> None:
    head = (
        b"POST /v1/audit HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    )
    with ThreadPoolExecutor(20) as pool:
        slow = [pool.submit(raw, server, head, 60) for _ in range(20)]
        time.sleep(1)
        start = time.monotonic()
        quick = httpx.post(
            f"{server.url}/v1/audit", json={"image": "world:whatsup/0001", "question": QUESTION}, timeout=30
        )
        assert quick.status_code == 200
        assert time.monotonic() - start < 10
        assert all(b" 408 " in each.result().split(b"\r\n")[0] for each in slow)
    assert server.alive


def test_beyond_loopback_a_token_is_required_and_checked() -> None:
    with serving("--host", "0.0.0.0", RECAP_TOKEN="a-token-that-is-long-enough") as running:
        url = running.url.replace("0.0.0.0", "127.0.0.1")
        asked = {"image": "world:whatsup/0001", "question": QUESTION}
        assert httpx.post(f"{url}/v1/audit", json=asked, timeout=30).status_code == 401
        wrong = {"authorization": "Bearer a-token-that-is-long-enougH"}
        assert httpx.post(f"{url}/v1/audit", json=asked, headers=wrong, timeout=30).status_code == 401
        right = {"authorization": "Bearer a-token-that-is-long-enough"}
        assert httpx.post(f"{url}/v1/audit", json=asked, headers=right, timeout=60).status_code == 200
        assert httpx.get(f"{url}/healthz", timeout=30).status_code == 200
        assert httpx.get(f"{url}/metrics", timeout=30).status_code == 401
        assert not any("a-token" in line for line in running.said)
