"""The service's own watches over a stream of audits with labels: `python -m benchmarks.served_stream`, a few seconds of model time.

A policy that promises a risk is calibrated on some pictures and put into a running application. Then audits are posted to
`POST /v1/audit`, one for a picture, and the truth about each answer to `POST /v1/labels`: about other pictures of the same kind, then
about pictures that come in mirrored (answers go wrong, and look like any others: only labels can tell), and in another service the
answers of somebody who says "yes" to everything (risks move: drift tells without a label). `GET /v1/policy` says what drift and labels
show after every tenth answer; nothing else is looked at.
"""

from __future__ import annotations

import argparse
import base64
import io
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from starlette.testclient import TestClient

import recap
from recap.datasets import load_dataset
from recap.probes import question
from recap.probes.views import flipped
from recap.probing import Item
from recap.server.app import create_app
from recap.server.service import Service
from recap.world.scheme import open_image

MODEL, DATASET = "world:aligned", "world:whatsup"
RISK, EVERY = 0.15, 10


@dataclass(frozen=True)
class Stretch:
    """What the service said over a stretch of the stream."""

    audits: int
    accepted: int
    wrong: int
    """of the accepted ones"""
    breached: int | None
    """audits after which `GET /v1/policy` named the broken promise; None where it did not"""
    moved: int | None
    """audits after which it said that risks have moved"""
    risk: str
    drift: str


def groups(seed: int = 0) -> list[list[Item]]:
    """The statements of each picture, pictures in random order."""
    found: dict[str, list[Item]] = {}
    for item in load_dataset(DATASET).items:
        found.setdefault(item.unit, []).append(item)
    order = np.random.default_rng(seed).permutation(len(found))
    every = list(found.values())
    return [every[i] for i in order]


def promised(auditor: recap.Auditor, some: list[list[Item]]) -> recap.Policy:
    """A policy from audits of labelled statements about these pictures."""
    items = [item for group in some for item in group]
    verdicts = auditor.audit_many([(item.image or "", asked(item)) for item in items])
    rows = [
        verdict.row.model_copy(update={"id": item.id, "label": item.label, "unit": item.unit})
        for item, verdict in zip(items, verdicts, strict=True)
    ]
    return recap.calibrate(recap.MarginTable(tuple(rows), auditor.graph), risk_at_most=RISK, gate="paper")


def asked(item: Item) -> str:
    return question(item.statement.subject, item.statement.relation, item.statement.object)


def posted(client: TestClient, some: list[list[Item]], kind: str, stop: str | None = None, seed: int = 1) -> Stretch:
    """One random statement about each picture, audited and labelled, until the watch `stop` has spoken."""
    rng = np.random.default_rng(seed)
    accepted = wrong = 0
    when: dict[str, int | None] = {"breached": None, "moved": None}
    told: dict[str, Any] = {}
    count = 0
    for count, group in enumerate(some, start=1):
        item = group[int(rng.integers(len(group)))]
        audit = {"image": mirrored(item.image or "") if kind == "mirrored" else item.image, "question": asked(item)}
        audit |= {"answer": "yes"} if kind == "always yes" else {}
        verdict = client.post("/v1/audit", json=audit).raise_for_status().json()
        label = {"row": verdict["row"], "label": item.label, "picture": f"{item.unit} {kind}"}
        client.post("/v1/labels", json={"labels": [label]}).raise_for_status()
        accepted += verdict["accepted"]
        wrong += verdict["accepted"] and verdict["answer"] != item.label
        if count % EVERY == 0 or count == len(some):
            told = client.get("/v1/policy").raise_for_status().json()
            seen = {"breached": told["risk"]["breached"], "moved": told["drift"]["moved"]}
            when = {name: at or (count if seen[name] else None) for name, at in when.items()}
            if stop is not None and seen[stop]:
                break
    return Stretch(
        count, accepted, wrong, when["breached"], when["moved"], told["risk"]["verdict"], told["drift"]["verdict"]
    )


def mirrored(name: str) -> str:
    """A scene the wrong way round, as base64: left is right."""
    held = io.BytesIO()
    flipped(open_image(name)).save(held, "PNG")
    return base64.b64encode(held.getvalue()).decode()


def run(calibrated: int, quiet: int, most: int) -> tuple[recap.Policy, dict[str, Stretch]]:
    """Each kind of stream, in two services under one policy."""
    warnings.simplefilter("ignore", UserWarning)
    auditor = recap.Auditor.load(MODEL, any_picture=True)
    every = groups()
    policy = promised(auditor, every[:calibrated])
    auditor, later = recap.Auditor(auditor.model, policy, auditor.graph), every[calibrated:]
    with TestClient(create_app(Service(auditor))) as client:
        found = {"as in calibration": posted(client, later[:quiet], "as in calibration")}
        found["mirrored"] = posted(client, later[quiet : quiet + most], "mirrored", "breached")
    with TestClient(create_app(Service(auditor))) as client:
        found["always yes"] = posted(client, later[:most], "always yes", "moved")
    return policy, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calibrated", type=int, default=120, help="pictures that calibrate")
    parser.add_argument("--quiet", type=int, default=120, help="pictures of the same kind")
    parser.add_argument("--most", type=int, default=300, help="pictures at most until a change is seen")
    parser.add_argument("--out", type=Path, help="write the figures there, as JSON")
    options = parser.parse_args()
    policy, stretches = run(options.calibrated, options.quiet, options.most)
    print(f"promise: {policy.promise}")
    for name, each in stretches.items():
        print(f"{name}: {each.audits} audits, {each.accepted} accepted, {each.wrong} of them wrong")
        for what, at in (("breach", each.breached), ("drift", each.moved)):
            print(f"  {what}: {'not named' if at is None else f'named after {at} audits'}")
        print(f"  labels: {each.risk}\n  drift:  {each.drift}")
    if options.out:
        import json

        options.out.write_text(
            json.dumps({name: vars(each) for name, each in stretches.items()}, indent=2) + "\n", "utf-8"
        )


if __name__ == "__main__":
    main()
