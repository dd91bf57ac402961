"""Streams through the guard: as fast as they come, one event more, or held back where words must not slip out."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from recap.server.service import REJECT_TEXT
from tests.server.callers import CALLER, QUESTION, Start, ask, body, client, post, skipped, streamed, text_of
from tests.server.upstream import Upstream, pieces


def test_a_stream_streams_and_ends_with_the_verdict(guard: Start, url: str) -> None:
    address, behind = guard(Upstream(lambda _: "Yes, the crate is on it.", pause=0.08))
    chunks, times, headers = streamed(address, url)
    assert text_of(chunks) == "Yes, the crate is on it."
    assert headers["content-type"] == "text/event-stream; charset=utf-8"
    assert (headers["x-recap"], headers["x-recap-reason"]) == ("pending", "the verdict is the last event before [DONE]")
    audits = [chunk for chunk in chunks if chunk.object == "recap.audit"]
    assert audits == chunks[-1:]
    assert audits[0].recap["verdict"] == "accepted"
    assert (audits[0].id, audits[0].model) == ("chatcmpl-7", "scripted")
    assert [chunk.choices[0].finish_reason for chunk in chunks][-2:] == ["stop", None]
    # The first piece is with the client long before the upstream has sent the last, and most of the others are too.
    assert times[0] < behind.sent[4]
    assert sum(at < behind.sent[-1] for at in times) > len(times) / 2


def test_only_one_event_is_added_to_a_stream(guard: Start, url: str) -> None:
    address, _ = guard(Upstream(lambda _: "No", stream=lambda _: pieces("No", usage=True)))
    found = post(address, body(url, stream=True)).content
    whole = b"".join(pieces("No", usage=True))
    start = found.index(
        b'data: {"id": "chatcmpl-7", "created": 1700000000, "model": "scripted", "object": "recap.audit"'
    )
    end = found.index(b"data: [DONE]")
    assert found[:start] + found[end:] == whole
    assert found[start:end].endswith(b"}\n\n")
    assert json.loads(found[start + 6 : end])["recap"]["verdict"] == "rejected"


def test_events_cut_anywhere_are_read_all_the_same(guard: Start, url: str) -> None:
    whole = b"".join(pieces("No, never."))
    cut = [whole[i : i + 7] for i in range(0, len(whole), 7)]
    address, _ = guard(Upstream(stream=lambda _: cut))
    chunks, _, _ = streamed(address, url)
    assert text_of(chunks) == "No, never."
    assert chunks[-1].recap["verdict"] == "rejected"


def test_the_helper_of_the_client_accumulates_the_stream(guard: Start, url: str) -> None:
    address, _ = guard(Upstream(lambda _: "Yes, it is."))
    with client(address).chat.completions.stream(model="scripted", messages=ask(url)) as stream:
        audits = [event.chunk for event in stream if event.type == "chunk" and event.chunk.object == "recap.audit"]
        final = stream.get_final_completion()
    assert final.choices[0].message.content == "Yes, it is."
    assert final.choices[0].finish_reason == "stop"
    assert audits == []  # it passes over what is not a chat.completion.chunk


@pytest.mark.parametrize(("stream", "why"), [
    (pieces("The crate is on it."), "may mean several things"),
    ([b'data: {"choices": [{"index": 0, "delta": {"tool_calls": [{}]}}]}\n\n', b"data: [DONE]\n\n"], "calls a tool"),
    ([b'data: {"choices": [{"index": 1, "delta": {"content": "Yes"}}]}\n\n', b"data: [DONE]\n\n"], "several answers"),
    ([b"data: what\n\n", b"data: [DONE]\n\n"], "is not JSON"),
    ([b'data: {"error": {"message": "too hot"}}\n\n', b"data: [DONE]\n\n"], "broke off with an error"),
])  # fmt: skip
def test_a_stream_that_is_not_understood_says_so_in_its_last_event(
    guard: Start, url: str, stream: list[bytes], why: str
) -> None:
    address, _ = guard(Upstream(stream=lambda _: stream))
    found = post(address, body(url, stream=True)).content
    end = found.index(b"data: [DONE]")
    told = json.loads(found[found.rindex(b"data: {", 0, end) + 6 : end])["recap"]
    assert (told["verdict"], told["accepted"]) == ("skipped", None)
    assert why in told["reason"]


def test_a_stream_without_a_picture_has_no_event_more(guard: Start) -> None:
    address, _ = guard(Upstream(lambda _: "A crate.", pause=0.02))
    found = post(address, {"model": "s", "messages": [{"role": "user", "content": "What is this?"}], "stream": True})
    assert "no image" in skipped(found)
    assert found.content == b"".join(pieces("A crate."))


def test_a_stream_without_its_end_still_gets_its_verdict(guard: Start, url: str) -> None:
    address, _ = guard(Upstream(stream=lambda _: [*pieces("Yes.")[:-1], b"data: {}"]))
    chunks, _, _ = streamed(address, url)
    assert chunks[-1].recap["verdict"] == "accepted"


def test_with_replace_a_stream_is_held_back_until_the_verdict(guard: Start, url: str) -> None:
    address, behind = guard(
        Upstream(stream=lambda _: pieces("No, it is not.", usage=True), pause=0.05), on_reject="replace"
    )
    chunks, times, headers = streamed(address, url, stream_options={"include_usage": True})
    assert times[0] > behind.sent[-1]
    assert headers["content-type"] == "text/event-stream; charset=utf-8"
    assert headers["x-recap"] == "rejected"
    assert text_of([chunk for chunk in chunks if chunk.choices]) == REJECT_TEXT
    assert [chunk.object for chunk in chunks] == ["chat.completion.chunk"] * 3 + ["recap.audit"]
    assert chunks[1].choices[0].finish_reason == "stop"
    assert chunks[2].usage.total_tokens == 7
    assert chunks[3].recap["accepted"] is False
    behind.stream = lambda _: pieces("Yes, it is.")
    chunks, _, headers = streamed(address, url)
    assert (text_of(chunks), headers["x-recap"]) == ("Yes, it is.", "accepted")
    behind.stream = lambda _: pieces("Who knows?")
    found = post(address, body(url, stream=True))
    assert "does not begin" in skipped(found)
    assert found.content == b"".join(pieces("Who knows?"))


def test_with_replace_a_stream_without_a_picture_still_streams(guard: Start) -> None:
    address, behind = guard(Upstream(lambda _: "A crate, I think.", pause=0.08), on_reject="replace")
    asked: list[Any] = [{"role": "user", "content": "What is this?"}]
    raw = client(address).chat.completions.create(model="s", messages=asked, stream=True)
    next(iter(raw))
    assert len(behind.sent) < len(pieces("A crate, I think."))
    raw.close()


@pytest.mark.parametrize(("on_reject", "question"), [
    ("annotate", QUESTION), ("annotate", "What is this?"), ("replace", QUESTION),
])  # fmt: skip
def test_who_hangs_up_here_hangs_up_on_the_upstream(guard: Start, url: str, on_reject: str, question: str) -> None:
    address, behind = guard(Upstream(lambda _: "Yes " + "and " * 400, pause=0.02), on_reject=on_reject)
    asked = body(url, question, stream=True)
    request = CALLER.build_request("POST", f"{address}/v1/chat/completions", json=asked, timeout=0.8)
    if on_reject == "replace":
        with pytest.raises(httpx.ReadTimeout):
            CALLER.send(request)
    else:
        answer = CALLER.send(request, stream=True)
        next(answer.iter_raw())
        answer.close()
    assert behind.left.wait(5)
