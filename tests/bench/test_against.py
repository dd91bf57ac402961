from __future__ import annotations

from typing import Any

import pytest

from recap.bench import compare_with_server
from recap.errors import RecapError
from tests.models.remote.server import Server, serving


def test_the_three_ways_answer_the_same_questions_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recap.bench.against.WARM", 1)
    said: list[str] = []
    with serving(Server()) as server:
        tree, unshared, served = compare_with_server(server.address, 2, rounds=2, say=said.append)
    assert tree.probes == unshared.probes == served.probes > 12
    assert max(unshared.largest_difference, served.largest_difference) < 1e-4
    assert (tree.forwards, unshared.forwards) == (1, 1)
    assert served.forwards >= served.probes
    assert [tree.way, unshared.way, served.way] == ["token tree", "batched without sharing", "served by vLLM 0.32.0"]
    assert [line.split(":")[0] for line in said] == ["round 1 of 2", "round 2 of 2"]


def test_what_is_no_server_cannot_be_timed(recap: Any) -> None:
    assert "expected the address of a server" in recap("bench", "--against", "world:aligned").err
    with serving(Server()) as server, pytest.raises(RecapError, match="between 1 and"):
        compare_with_server(server.address, 0)
