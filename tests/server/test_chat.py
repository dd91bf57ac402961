"""What counts as yes, as no, and as neither; and that events survive being cut anywhere."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recap.claims.answers import yes_or_no
from recap.server.guard.upstream import LONGEST, data_of, event_of, events


@pytest.mark.parametrize("text", [
    "yes", "Yes", "YES.", "Yes, the mug is left of the laptop.", " \n yes!", "**Yes**", "**Yes**, it is.", '"Yes"', "Yes\nBecause …",
    "Yes - it is.", "Yes — it is", "Yes (clearly)", "yes; it is", "Yes the mug is on it.", "Yes it's there", "Ｙｅｓ", "Yes。", "_Yes_",
    "`yes`", "Yes: there", "(yes)", "Yes…",
])  # fmt: skip
def test_yes(text: str) -> None:
    assert yes_or_no(text) == "yes"


@pytest.mark.parametrize(
    "text", ["no", "No.", "NO, it isn't.", "No, the mug is right of it", "No it is not", "No\n\nThe", "No – behind"]
)
def test_no(text: str) -> None:
    assert yes_or_no(text) == "no"


@pytest.mark.parametrize("text", [
    "", " ", "...", "The answer is yes.", "Not really", "None", "Nope", "Yeah", "yesterday", "No idea.", "No mug is there.", "Yes/No",
    "yes or no", "Yes and no.", "no-one", "No's", "<think>Yes</think> No", "I cannot tell", "nö", "True", "1", "No one", "{\"answer\": \"yes\"}",
    "Yes" + "s" * 500, " " * 300 + "yes",
])  # fmt: skip
def test_neither(text: str) -> None:
    assert yes_or_no(text) is None


@settings(max_examples=300)
@given(st.text(max_size=400))
def test_any_text_is_read(text: str) -> None:
    assert yes_or_no(text) in ("yes", "no", None)


def cut(whole: bytes, places: list[int]) -> list[bytes]:
    async def parts() -> AsyncGenerator[bytes]:
        at = 0
        for place in [*sorted(places), len(whole)]:
            yield whole[at:place]
            at = place

    async def collect() -> list[bytes]:
        return [event async for event in events(parts())]

    return asyncio.run(collect())


@settings(max_examples=200)
@given(
    st.lists(st.sampled_from([b"data: {}", b"data: a\ndata: b", b": ping", b"event: x\r\ndata: y", b"data: \xc3\xa4"]), max_size=6),
    st.sampled_from([b"\n\n", b"\r\n\r\n", b"\r\r"]),
    st.lists(st.integers(0, 100), max_size=8),
    st.booleans(),
)  # fmt: skip
def test_events_are_whole_however_they_arrive(said: list[bytes], end: bytes, places: list[int], ends: bool) -> None:
    whole = b"".join(each + end for each in said)
    if said and not ends:
        whole = whole[: -len(end)]
    found = cut(whole, [place for place in places if place <= len(whole)])
    assert b"".join(found) == whole
    assert [data_of(each) for each in found] == [data_of(each) for each in said]


def test_an_event_without_an_end_is_not_held_for_ever() -> None:
    found = cut(b"x" * (3 * LONGEST), [LONGEST // 2 * i for i in range(1, 6)])
    assert len(found) > 1
    assert b"".join(found) == b"x" * (3 * LONGEST)


def test_what_an_event_says() -> None:
    assert data_of(event_of({"a": 1})) == b'{"a": 1}'
    assert data_of(b": ping\n\n") == b""
    assert data_of(b"data: [DONE]\n\n") == b"[DONE]"
