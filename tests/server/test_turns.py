"""Turns of the model: one that fails, one that is stuck, and what they leave behind."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import time
import weakref
from collections.abc import Sequence
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="fastapi is not installed: pip install 'recap-vlm[server]'")

from starlette.testclient import TestClient

from recap.audit import AuditCase, Auditor, Verdict
from recap.claims import default_graph
from recap.errors import RecapError
from recap.models.remote.client import UnreachableError
from recap.server.app import create_app
from recap.server.batching import Batcher
from recap.server.service import Limits, Service
from recap.world.scheme import open_image
from tests.server import costly
from tests.server.callers import QUESTION, SCENE

JSON = {"content-type": "application/json"}


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
        batcher = next(each for each in gc.get_objects() if type(each) is Batcher and each.limits.turn_seconds == 0.05)
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
