from __future__ import annotations

import email.utils
import time

import httpx
import pytest

from recap.models.remote.client import connection_error, status_error
from recap.models.remote.contract import RefusedError, TransientError

ADVICE = (("context length", "start it with more room"),)


def judge(status: int, text: str = "", keyed: bool = False, **headers: str) -> TransientError | RefusedError:
    return status_error(status, httpx.Headers(headers), text, "/v1/x", keyed=keyed, advice=ADVICE)


@pytest.mark.parametrize("status", [408, 429, 502, 503, 504])
def test_a_busy_server_is_waited_for(status: int) -> None:
    found = judge(status, '{"error": {"message": "too much"}}')
    assert isinstance(found, TransientError)
    assert (str(found), found.limited) == (f"the server is busy ({status}: too much)", False)


def test_a_servers_own_mistake_is_not_waited_out_for_ever() -> None:
    found = judge(500, "<html><body>Internal Server Error</body></html>")
    assert isinstance(found, TransientError)
    assert (str(found), found.limited) == ("the server failed (500)", True)


@pytest.mark.parametrize(
    ("status", "text", "keyed", "told"),
    [
        (400, '{"message": "maximum context length is 9"}', False, "start it with more room (maximum context length is 9)"),
        (400, "x" * 500, False, f"the server refuses /v1/x (400: {'x' * 199}…)"),
        (401, "", False, "the server wants a key: set RECAP_API_KEY (401)"),
        (403, "", True, "the server refuses the key from the environment (403)"),
        (404, '{"detail": "Not Found"}', False, "there is no /v1/x here (404: Not Found)"),
        (307, "", True, "the server sends elsewhere (307): give the address it means"),
    ],
)  # fmt: skip
def test_a_refusal_says_what_to_change(status: int, text: str, keyed: bool, told: str) -> None:
    found = judge(status, text, keyed)
    assert isinstance(found, RefusedError)
    assert str(found) == told


def test_retry_after_is_seconds_or_a_date() -> None:
    def wait(text: str) -> float | None:
        found = judge(429, **{"Retry-After": text})
        assert isinstance(found, TransientError)
        return found.retry_after

    assert wait("7") == 7.0
    assert wait(email.utils.formatdate(time.time() + 30, usegmt=True)) == pytest.approx(30, abs=2)
    assert wait(email.utils.formatdate(time.time() - 30, usegmt=True)) == 0.0
    assert wait("soon") is None


def test_broken_connections_are_told_without_their_details() -> None:
    told = {
        httpx.ConnectError("[Errno 111] Connection refused"): "the server does not answer (connection refused)",
        httpx.ConnectError("[Errno -2] Name or service not known"): "no host of that name is known",
        httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED]"): "no safe connection can be made (certificate)",
        httpx.ReadError(""): "the connection broke in the middle",
        httpx.LocalProtocolError("Illegal header value b'Bearer secret'"): "the connection broke in the middle",
    }
    for error, words in told.items():
        assert connection_error(error) == words
