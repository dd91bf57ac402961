"""Two hundred answers about drawn scenes, and what `Auditor` says of each: every host must say the same."""

from __future__ import annotations

import base64
import io
import os
from dataclasses import dataclass
from importlib.util import find_spec

import pytest

from recap import Auditor, Verdict
from recap.datasets import Item, load_dataset
from recap.images import open_image
from recap.probes import question

MODEL = "world:aligned"
if find_spec("inspect_ai") is None:
    # The hosts have an environment of their own, in which all of them are installed: make test-integrations.
    collect_ignore_glob = ["test_*.py"]
# Hosts look for news, prices and users when they are imported.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("DO_NOT_TRACK", "true")


@dataclass(frozen=True)
class Audited:
    """An answer, and the verdict that it has."""

    item: Item
    question: str
    answer: str
    verdict: Verdict

    @property
    def image(self) -> str:
        assert self.item.image is not None
        return self.item.image

    @property
    def url(self) -> str:
        png = io.BytesIO()
        open_image(self.image).save(png, "PNG")
        return "data:image/png;base64," + base64.b64encode(png.getvalue()).decode()

    @property
    def messages(self) -> list[dict[str, object]]:
        picture = {"type": "image_url", "image_url": {"url": self.url}}
        return [{"role": "user", "content": [picture, {"type": "text", "text": self.question}]}]


@pytest.fixture(scope="session")
def auditor() -> Auditor:
    return Auditor.load(MODEL)


@pytest.fixture(scope="session")
def items() -> list[Item]:
    """Of two benchmarks, all relation families, some outside the relation graph."""
    return [*load_dataset("world:whatsup").items[::23][:140], *load_dataset("world:vsr").items[::17][:60]]


@pytest.fixture(scope="session")
def given(auditor: Auditor, items: list[Item]) -> list[Audited]:
    """Answers of somebody else: about half of them are not the auditing model's own."""
    return _audited(auditor, items, [("yes", "no")[i % 2] for i in range(len(items))])


@pytest.fixture(scope="session")
def own(auditor: Auditor, items: list[Item]) -> list[Audited]:
    """The auditing model's own answers."""
    return _audited(auditor, items, [None] * len(items))


def _audited(auditor: Auditor, items: list[Item], answers: list[str | None]) -> list[Audited]:
    assert len(items) == 200
    asked = [
        each.question or question(said.subject, said.relation, said.object, auditor.graph, naming=said.naming)
        for each in items
        for said in (each.statement,)
    ]
    cases = [(each.image or "", text, answer) for each, text, answer in zip(items, asked, answers, strict=True)]
    verdicts = auditor.audit_many(cases)
    found = [Audited(i, q, v.answer, v) for i, q, v in zip(items, asked, verdicts, strict=True)]
    # A test of agreement means nothing where every verdict is the same.
    assert 20 < sum(bool(each.verdict.accepted) for each in found) < 195
    return found
