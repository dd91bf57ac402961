"""What the guard does not understand passes untouched, and a header says why."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from recap import Auditor
from recap.world.scheme import open_image
from tests.server.callers import QUESTION, SCENE, Start, ask, body, post, skipped
from tests.server.upstream import Upstream, completion

PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
NOT_OURS: dict[str, tuple[Callable[[str], Any], str]] = {
    "two answers": (lambda url: body(url, n=2), "several answers"),
    "tools": (lambda url: body(url, tools=[{"type": "function", "function": {"name": "f"}}]), "offers tools"),
    "no picture": (lambda _: {"messages": [{"role": "user", "content": QUESTION}]}, "holds no images, not one"),
    "two pictures": (lambda url: {"messages": ask(url) + ask(url)}, "holds 2 images, not one"),
    "an address": (lambda _: body("https://example.org/a.png"), "not a data: URL, and nothing is fetched"),
    "a file": (lambda _: body("file:///etc/passwd"), "not a data: URL"),
    "a scene in the box": (lambda _: body(SCENE), "not a data: URL"),
    "no image inside": (lambda _: body("data:image/png;base64,aGVsbG8="), "this is not a JPEG"),
    "a broken picture": (lambda url: body(url[: len(url) // 8 * 4]), "image: "),
    "not spatial": (lambda url: body(url, "What is in the picture?"), "not one spatial question"),
    "two questions": (lambda url: body(url, "Is it red? Is the mug on the table?"), "more than one sentence"),
    "a statement": (lambda url: body(url, "The crate is on the suitcase."), "states, and does not ask"),
    "a long text": (lambda url: body(url, "Is the crate on the suitcase? " * 40), "too long"),
    "the assistant's turn": (
        lambda url: {"messages": [*ask(url), {"role": "assistant", "content": "Well,"}]},
        "last message is not the user's",
    ),
    "a video": (
        lambda url: {"messages": [{"role": "user", "content": [{"type": "video_url", "video_url": {"url": url}}]}]},
        "neither text nor an image_url",
    ),
    "no messages": (lambda _: {"messages": []}, "not of the shape of a chat"),
    "odd messages": (lambda _: {"messages": ["hello"]}, "not of the shape of a chat"),
    "odd text": (lambda url: {"messages": [{"role": "user", "content": [PICTURE, {"type": "text"}]}]}, "shape of a chat"),
    "a list": (lambda _: [1, 2], "the request is not a JSON object"),
}  # fmt: skip


PLAIN = Upstream(raw=(200, "application/json; x=1", b'{"choices":[{"message":{"content":"Yes."}}] }\n'))


@pytest.mark.parametrize("kind", NOT_OURS)
def test_what_is_not_understood_passes_untouched(guard: Start, url: str, kind: str) -> None:
    address, behind = guard(replace(PLAIN))
    make, why = NOT_OURS[kind]
    content = json.dumps(make(url)).encode()
    found = post(address, content)
    assert why in skipped(found)
    assert (found.status_code, found.headers["content-type"]) == (200, "application/json; x=1")
    assert behind.raw is not None
    assert found.content == behind.raw[2]
    assert behind.last.body == content


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b'{"a":' * 50_000, "\ufeff{}".encode()])
def test_a_body_that_is_no_json_is_the_upstreams_business(guard: Start, content: bytes) -> None:
    address, behind = guard(replace(PLAIN))
    assert "the request is not JSON" in skipped(post(address, content))
    assert behind.last.body == content


ANSWERS: dict[str, tuple[str, bytes]] = {
    "neither yes nor no": ("does not begin with yes or no", json.dumps(completion("The crate is there.")).encode()),
    "no text": ("has no text", json.dumps(completion(None)).encode()),
    "a tool call": ("calls a tool", json.dumps(completion("Yes", tool_calls=[{"id": "1"}])).encode()),
    "two choices": ("several answers", json.dumps(completion("Yes") | {"choices": completion("Yes")["choices"] * 2}).encode()),
    "no choices": ("shape of a chat", b"{}"),
    "not JSON": ("the upstream's answer is not JSON", b"Yes."),
    "half of it": ("the upstream's answer is not JSON", json.dumps(completion("Yes.")).encode()[:-9]),
    "a web page": ("the upstream's answer is not JSON", b"<html>yes</html>"),
    "a list": ("not a JSON object", b"[]"),
}  # fmt: skip


@pytest.mark.parametrize("kind", ANSWERS)
@pytest.mark.parametrize("on_reject", ["annotate", "replace"])
def test_an_answer_that_is_not_understood_passes_untouched(guard: Start, url: str, kind: str, on_reject: str) -> None:
    why, answer = ANSWERS[kind]
    address, _ = guard(Upstream(raw=(200, "application/json", answer)), on_reject=on_reject)
    found = post(address, body(url))
    assert why in skipped(found)
    assert found.content == answer


def test_confidence_in_the_other_answer_is_no_verdict(guard: Start, auditor: Auditor, url: str) -> None:
    question = "Is the crate touching the suitcase?"  # outside the graph: confidence alone speaks
    own = auditor.audit(open_image(SCENE), question)
    assert (own.mode, own.accepted, own.answer) == ("fallback", True, "yes")
    address, behind = guard(Upstream(lambda _: "Yes."))
    assert post(address, body(url, question)).headers["x-recap"] == "accepted"
    behind.says = lambda _: "No."
    assert "confidence in the other answer" in skipped(post(address, body(url, question)))
