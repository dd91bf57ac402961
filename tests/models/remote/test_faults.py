"""Faults on the way between client and server: every margin is right or there is a clear error; none wrong, none lost."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from recap.datasets import load_dataset
from recap.datasets.probing import Probing, probe_items
from recap.errors import RecapError
from recap.models.contract import Request
from recap.models.remote.model import RemoteModel
from recap.probing import LocalEngine
from recap.store import Store
from tests.models.remote.engine import Dealt, Engine, Teaching, engine
from tests.models.remote.proxy import FAULTS, SLOW, Proxy, before, status
from tests.models.remote.server import Habits, Server, serving
from tests.models.remote.test_served import QUESTIONS, local_margins, requests, worst

pytestmark = pytest.mark.faults

QUICK: dict[str, Any] = {"pause": 0.005, "concurrency": 16, "timeout": SLOW / 2}
ITEMS = load_dataset("world:whatsup").items[:64]
"""sixteen pictures with four statements each"""


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a short run has several."""
    monkeypatch.setattr("recap.models.remote.model.BATCH", 64)


def probed(model: Any, store: Store, items: int = 64) -> Probing:
    return probe_items(ITEMS[:items], LocalEngine(model), store, probes="cal")


def dealt() -> Dealt:
    return Dealt("dealt", engine().model)


def test_no_fault_makes_a_margin_wrong_or_lost(tmp_path: Path) -> None:
    """Some hundred faults of every kind, from the first request on, during a whole probing run."""
    taught = Engine("world:aligned", engine().model)
    with Store(":memory:") as store:
        truth = probed(Teaching(taught), store)
    with (
        serving(Server(engine=taught)) as server,
        before(Proxy(server.port)) as proxy,
        Store(tmp_path / "s.db") as store,
    ):
        found = probed(RemoteModel.load(proxy.address, **QUICK), store)
        assert not found.ran.failed
        assert found.ran.margins.keys() == truth.ran.margins.keys()
        assert len(store) == len(truth.ran.margins) > 250
        for probe, margin in truth.ran.margins.items():
            assert found.ran.margins[probe] == pytest.approx(margin, abs=1e-4)
    print(f"{sum(proxy.injected.values())} faults, {len(truth.ran.margins)} margins")
    assert sum(proxy.injected.values()) >= 300
    assert proxy.injected.keys() == FAULTS.keys()


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_that_never_ends_is_a_clear_error_and_no_margin(fault: str, tmp_path: Path) -> None:
    with serving(Server(engine=dealt())) as server, before(Proxy(server.port, most=0)) as proxy:
        model = RemoteModel.load(proxy.address, patience=0.4, **QUICK)
        proxy.always = fault
        with Store(tmp_path / "s.db") as store:
            with pytest.raises(RecapError) as failed:
                probed(model, store, items=4)
            assert len(store) == 0
        message = str(failed.value)
        assert message.startswith(f"http://127.0.0.1:{proxy.port}: ")
        assert "\n" not in message
        assert proxy.injected[fault] >= 1
        # It ends, and all is well.
        proxy.always = None
        asked = [Request(None, QUESTIONS)]
        expected = [server.engine.logprobs(server.engine.prompter.prompt(q, False), None)[0] for q in QUESTIONS]
        assert worst(model.margins(asked), [[values[5] - values[6] for values in expected]]) < 1e-9


def test_a_server_that_asks_for_time_gets_it() -> None:
    with serving(Server(engine=dealt())) as server, before(Proxy(server.port, most=0)) as proxy:
        model = RemoteModel.load(proxy.address, **QUICK)
        for seconds, patience_ends in (("0.3", False), ("3000", True)):
            FAULTS["wait"] = status(429, Retry_After=seconds)
            proxy.always = "wait"
            timer = threading.Timer(0.1, lambda: setattr(proxy, "always", None))
            timer.start()
            start = time.monotonic()
            if patience_ends:
                with pytest.raises(
                    RecapError, match=r"busy \(429: not now\), and asks to wait 3000 s: more than --patience 60"
                ):
                    model.margins([Request(None, QUESTIONS[:1])])
            else:
                model.margins([Request(None, QUESTIONS[:1])])
                assert 0.3 <= time.monotonic() - start < 2
            timer.join()
        del FAULTS["wait"]


class Mortal:
    """A server that dies after so many questions, and may be started again on its port."""

    def __init__(self, after: int, **habits: Any) -> None:
        self.server = Server(engine=dealt(), habits=Habits(**habits))
        self.after, self.stack = after, ExitStack()
        self.died = threading.Event()
        self.dying = threading.Thread(target=self.stack.close)
        self.server.after = self.count
        self.stack.enter_context(serving(self.server))

    def count(self, answered: int) -> None:
        if answered == self.after:
            self.dying.start()
            self.died.set()

    def again(self, **changed: Any) -> None:
        self.dying.join()
        self.server = replace(self.server, after=lambda _: None, **changed)
        self.stack.enter_context(serving(self.server))


def test_a_server_that_dies_and_comes_back_costs_nothing(tmp_path: Path) -> None:
    calm = Mortal(-1)
    said: list[str] = []
    mortal = Mortal(150, seconds=0.002)
    with calm.stack, mortal.stack:
        with Store(":memory:") as store:
            truth = probed(RemoteModel.load(calm.server.address, **QUICK), store)
        comes_back = threading.Thread(target=lambda: (mortal.died.wait(), time.sleep(0.5), mortal.again()))
        comes_back.start()
        with Store(tmp_path / "s.db") as store:
            found = probed(RemoteModel.load(mortal.server.address, say=said.append, **QUICK), store)
        comes_back.join()
        mortal.stack.close()
    assert found.ran.margins == truth.ran.margins
    assert any("asking again for up to 60 s" in each for each in said)


def test_a_server_that_stays_away_ends_the_run_and_the_next_goes_on(tmp_path: Path) -> None:
    calm, mortal = Mortal(-1), Mortal(150)
    with calm.stack, mortal.stack, Store(tmp_path / "s.db") as store:
        with Store(":memory:") as other:
            truth = probed(RemoteModel.load(calm.server.address, **QUICK), other)
        with pytest.raises(RecapError, match="what was stored stays, and the same command goes on from there"):
            probed(RemoteModel.load(mortal.server.address, patience=0.3, **QUICK), store)
        kept = len(store)
        assert 50 < kept < 150
        mortal.again()
        found = probed(RemoteModel.load(mortal.server.address, **QUICK), store)
        assert (found.ran.found, found.ran.margins) == (kept, truth.ran.margins)
        mortal.stack.close()


def test_another_model_behind_the_same_address_is_noticed_and_nothing_of_it_kept(tmp_path: Path) -> None:
    """Same address, same name, same everything the server says: only its answers tell."""
    mortal = Mortal(150)
    with mortal.stack, Store(tmp_path / "s.db") as store:
        model = RemoteModel.load(mortal.server.address, **QUICK)

        class Other(Dealt):
            def _forward(self, prompt: str, png: bytes | None) -> tuple[list[float], int]:
                return super()._forward("Another. " + prompt, png)

        comes_back = threading.Thread(
            target=lambda: (mortal.died.wait(), mortal.again(engine=Other("dealt", engine().model)))
        )
        comes_back.start()
        with pytest.raises(RecapError, match="another model stands here than at the start: margins are off by"):
            probed(model, store)
        comes_back.join()
        mortal.stack.close()
        assert 50 < len(store) < 150  # what was stored before


def test_a_model_that_was_not_used_for_a_while_is_asked_again_who_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recap.models.remote.model.IDLE", 0.05)
    with serving(Server(engine=dealt())) as server:
        model = RemoteModel.load(server.address, **QUICK)
        model.margins([Request(None, QUESTIONS)])
        time.sleep(0.1)
        server.engine = Dealt("exchanged", engine().model)
        with pytest.raises(RecapError, match="another model stands here"):
            model.margins([Request(None, QUESTIONS)])


def test_margins_are_right_when_a_busy_server_turns_half_the_requests_away() -> None:
    asked = requests(6)
    kinds = ("429", "503", "429, wait", "503, wait")
    with serving(Server()) as server, before(Proxy(server.port, most=2, kinds=kinds, seed=1)) as proxy:
        model = RemoteModel.load(proxy.address, **QUICK)
        assert worst(model.margins(asked), local_margins(asked)) < 1e-4
        assert model.forwards == sum(proxy.seen.values())
