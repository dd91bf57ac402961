"""Margins by sampling: a bundled model through the path of --samples, and a chat endpoint that thinks."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest
from PIL import Image

from recap import Auditor
from recap.claims.answers import concluded
from recap.errors import RecapError
from recap.models.contract import Request, same_model
from recap.models.load import load_model
from recap.models.sampled import SampledLocalModel
from recap.statistics.sampling import sampled_margin, standard_error
from recap.world.scheme import open_image

QUESTIONS = ("Is the mug to the left of the ball?", "Is the ball on the mug?", "Is the mug behind the ball?")


@pytest.fixture(scope="module")
def model() -> SampledLocalModel:
    found = load_model("world:aligned", samples=20)
    assert isinstance(found, SampledLocalModel)
    return found


def test_sampled_margins_are_true_margins_with_an_error(model: SampledLocalModel) -> None:
    requests = [Request(open_image(f"world:whatsup/{n:04d}"), QUESTIONS) for n in range(12)]
    sampled, exact = np.array(model.margins(requests)), np.array(model.exact.margins(requests))
    most = sampled_margin(20, 20)  # twenty answers cannot say more
    errors = np.vectorize(lambda margin: standard_error(margin, 20))(sampled)
    away = np.abs(sampled - exact.clip(-most, most)) / errors
    assert (away <= 2).mean() >= 0.9
    assert model.margins(requests[:1]) == [sampled[0].tolist()]  # the same probe, the same answers
    assert sampled.min() >= -most


def test_sampled_margins_are_never_taken_for_true_ones(model: SampledLocalModel) -> None:
    assert str(model.identity).endswith(", 20 samples)")
    assert model.identity.digest != model.exact.identity.digest
    assert same_model(str(model.identity), str(model.exact.identity)) == "another"
    assert same_model(str(model.identity), str(model.identity)) == "same"
    with pytest.raises(RecapError, match="calibrate again, or use --any-model"):
        Auditor.load("world:aligned", samples=20)


def test_a_verdict_carries_the_uncertainty(model: SampledLocalModel) -> None:
    auditor = Auditor.load("world:aligned", any_model=True, samples=5)
    verdict = auditor.audit("world:whatsup/0003", "Is the mug to the left of the ball?")
    assert verdict.sampling is not None
    assert verdict.sampling.samples == 5
    assert any(note.startswith("5 answers were sampled per question") for note in verdict.notes)
    assert json.loads(json.dumps(verdict.to_json()))["sampling"]["agreement"] == verdict.sampling.agreement


@pytest.mark.parametrize("samples", [1, 0, -3, 1001, 10**12])
@pytest.mark.parametrize("name", ["world:aligned", "no-such/model", "http://127.0.0.1:9/v1"])
def test_too_few_and_too_many_samples_are_refused_before_anything_is_loaded(name: str, samples: int) -> None:
    with pytest.raises(RecapError, match=f"--samples is {samples}; it must lie between 2 and 1000"):
        load_model(name, samples=samples)


def test_more_answers_than_are_generated_at_once_are_all_counted(
    model: SampledLocalModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recap.models.sampled.TOGETHER", 3)
    tokenizer = model.exact.prompter.tokenizer
    decode = tokenizer.decode
    # No first word settles an answer.
    monkeypatch.setattr(tokenizer, "decode", lambda *first, **more: "well" if first else decode(**more))
    assert len(model.answers("Is the mug on the ball?", Request(None, ()))) == model.samples


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Yes.", "yes"), ("no", "no"), ("**No**, it is not.", "no"), ("<think>yes? no…</think>\n\nYes", "yes"),
        ("I look at it: no, wait.</think>No.", "no"), ("<think>It seems that yes", None), ("Maybe.", None), ("", None),
        ("The mug is on the left, so the answer is yes.", "yes"), ("The answer is yes. Or: the answer is no.", None),
    ],
)  # fmt: skip
def test_what_an_answer_concludes(text: str, answer: str | None) -> None:
    assert concluded(text) == answer


class Chat(BaseHTTPRequestHandler):
    """A chat endpoint that thinks before it answers, gives no log-probabilities and one answer per request."""

    asked = 0

    def do_GET(self) -> None:
        self._send({"data": [{"id": "thinker"}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if body.get("n", 1) > 1:
            self.send_error(400, "n is not supported")
            return
        type(self).asked += 1
        thought = "<think>" + "Let me see, is it yes or no? " * 8
        yes = "left" in body["messages"][0]["content"][-1]["text"] and type(self).asked % 4 != 0
        done = body["max_tokens"] >= 200
        self._send(
            {
                "choices": [
                    {
                        "message": {
                            "content": thought + ("</think> Yes." if yes else "</think> No.") if done else thought
                        }
                    }
                ]
            }
        )

    def _send(self, document: dict[str, Any]) -> None:
        data = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def chat() -> Generator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Chat) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        server.shutdown()
        thread.join()


def test_a_served_model_that_thinks_is_asked_through_chat_alone(chat: str) -> None:
    said: list[str] = []
    model = load_model(chat, samples=8, say=said.append)
    assert any("thinks before it answers" in line for line in said)
    picture = Image.new("RGB", (32, 32))
    [[left, above]] = model.margins([Request(picture, ("Is the mug left of the ball?", "Is the mug above the ball?"))])
    assert 0 < left < sampled_margin(8, 8)
    assert above == sampled_margin(0, 8)
    assert "8 samples" in str(model.identity)
    model.close()  # type: ignore[attr-defined]


def test_a_long_thought_behind_the_word_answer_is_passed_over_at_once() -> None:
    start = time.process_time()
    assert concluded(f"I will answer <think>{'hm ' * 20_000}</think> maybe") is None
    assert concluded(f"My answer <think>{'hm ' * 20_000}</think> is:\n no") == "no"
    assert time.process_time() - start < 1
