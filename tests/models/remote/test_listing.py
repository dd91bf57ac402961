"""A served model that lists a text's claims itself, over HTTP: good lists, chatter, broken ones, refusals, silence."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from typing import Any

import pytest

from recap import Auditor
from recap.errors import RecapError, RecapWarning
from recap.models.remote.model import RemoteModel
from recap.policy import load_policy
from recap.world.bundled import policy_file
from tests.models.remote.engine import engine
from tests.models.remote.server import DIALECTS, Habits, Server, serving

PICTURE = "world:whatsup/0032"
TEXT = "The crate rests on top of the suitcase, which has the lamp to its left."
LAMP = {"subject": "lamp", "relation": "left of", "object": "suitcase", "quote": "has the lamp to its left"}
BALL = {"subject": "ball", "relation": "on", "object": "crate", "quote": "the ball is on the crate"}
LIST = "\n".join(map(json.dumps, (LAMP, BALL)))
QUICK: dict[str, Any] = {"pause": 0.01, "concurrency": 4, "patience": 0.2}


def audited(server: Server, text: str = TEXT, claims: str = "both", **loading: Any) -> Any:
    with serving(server):
        template = {"template": engine().folder} if server.dialect == "sglang" else {}
        model = RemoteModel.load(server.address, **QUICK | loading | template)
        policy = replace(load_policy(policy_file("world:aligned")), model=None)
        try:
            return Auditor(model, policy).audit_text(PICTURE, text, exists=False, claims=claims)
        finally:
            model.close()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_served_model_lists_claims_and_each_is_audited(dialect: str) -> None:
    server = Server(dialect, habits=Habits(writes=f"Here you are:\n```json\n{LIST}\n```"))
    told = audited(server, claims="model")
    [claim] = told.claims
    assert (claim.claim.subject, claim.claim.relation, claim.claim.object) == ("lamp", "left_of", "suitcase")
    assert TEXT[claim.claim.start : claim.claim.end] == "has the lamp to its left"
    assert claim.word in ("accepted", "rejected")
    assert [each.why for each in told.unsure] == ['the model lists "ball on crate", but "ball" is not in the text']
    asked = next(body for body in server.bodies if body.get("max_tokens", 1) > 1)
    assert TEXT in json.dumps(asked["messages"])
    assert asked["temperature"] == 0


def test_with_the_rules_every_claim_is_there_once() -> None:
    again = json.dumps({"subject": "suitcase", "relation": "below", "object": "crate"})
    told = audited(Server(habits=Habits(writes=f"{LIST}\n{json.dumps(LAMP)}\n{again}")))
    found = [(each.claim.subject, each.claim.relation, each.claim.object) for each in told.claims]
    assert found == list(dict.fromkeys(found))  # "suitcase below crate" is "crate on top of suitcase"
    assert {("crate", "above", "suitcase"), ("lamp", "left_of", "suitcase")} <= set(found)


@pytest.mark.parametrize(
    ("writes", "why"),
    [
        ('{"subject": "lamp", "relation": "left of", "obj', "cannot be read"),
        ("I'm sorry, I can't help with that.", "cannot be read: \"I'm sorry"),
        (None, 'cannot be read: "I cannot do that.'),
    ],
)
def test_what_is_no_list_is_told_and_the_rules_stay(writes: str | None, why: str) -> None:
    told = audited(Server(habits=Habits(writes=writes)))
    assert ("crate", "above") in {(each.claim.subject, each.claim.relation) for each in told.claims}
    assert any(why in each.why for each in told.unsure)


def test_a_model_that_does_not_answer_in_time_leaves_the_rules() -> None:
    server = Server(habits=Habits(thinks=1.0))
    with pytest.warns(RecapWarning, match=r"no answer within 0\.5 s"):
        told = audited(server, timeout=0.5)
    assert ("crate", "above") in {(each.claim.subject, each.claim.relation) for each in told.claims}
    assert "the model could not be asked to list the text's claims" in [each.why for each in told.unsure]
    with pytest.raises(RecapError, match=r"no answer within 0\.5 s"):
        audited(Server(habits=Habits(thinks=1.0)), claims="model", timeout=0.5)


@pytest.mark.parametrize(("thinks", "listed"), [(0.0, True), (1.0, False)])
def test_a_service_asks_its_model_too_and_tells_no_address(thinks: float, listed: bool) -> None:
    pytest.importorskip("fastapi", reason="fastapi is not installed: pip install 'recap-vlm[server]'")
    from starlette.testclient import TestClient

    from recap.server.app import create_app
    from recap.server.service import Service

    with serving(Server(habits=Habits(writes=LIST, thinks=thinks))) as server, warnings.catch_warnings():
        warnings.simplefilter("ignore", RecapWarning)
        model = RemoteModel.load(server.address, **QUICK, timeout=0.5)
        service = Service(Auditor(model, replace(load_policy(policy_file("world:aligned")), model=None)), claims="both")
        with TestClient(create_app(service)) as client:
            found = client.post("/v1/audit/text", json={"image": PICTURE, "text": TEXT, "exists": False})
        model.close()
    assert found.status_code == 200
    assert "crate" in {each["subject"] for each in found.json()["claims"]}
    why = " ".join(each["why"] for each in found.json()["unsure"])
    assert ('"ball" is not in the text' in why, "could not be asked" in why) == (listed, not listed)
    assert str(server.port) not in found.text


def test_a_model_on_this_machine_is_told_apart() -> None:
    auditor = Auditor(engine().model)
    with pytest.raises(RecapError, match="cannot list claims: only served models write"):
        auditor.audit_text(PICTURE, TEXT, claims="both")
    with pytest.raises(RecapError, match='"modle" is not a way to find claims; did you mean "model"'):
        auditor.audit_text(PICTURE, TEXT, claims="modle")
