"""What auditing a text costs: forwards and seconds for one claim and for twelve, and what the guard adds to an answer.

    python -m benchmarks.texts [--model MODEL] [--policy FILE] [--pictures N] [--check]

Each picture is a drawn scene that was not asked about before, so that no margin comes from the store. The guard stands
before a server that answers at once with the same twelve claims: what it adds is the difference to asking that server
itself, and is held against an audit of the same text by the same service. With --check the exit code is 1 unless twelve
claims cost one forward and the guard adds less than one such audit. Figures of time need a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import base64
import io
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import httpx
from tests.server.upstream import Upstream, listening, served

from recap.audit import Auditor
from recap.server.app import create_app
from recap.server.service import Service
from recap.store import Store
from recap.world.scheme import open_image

ONE = "The crate is on the table."
TWELVE = (
    "The mug is on the table, and the lamp is behind the mug. A bowl is to the left of the mug and a pear to the right of the mug. "
    "The cat is under the table. There is a duck in front of the cat. The clock is above the table. The stool is behind the "
    "table. The apple is in the basket. The basket is on the stool. The ball is not under the stool. The hat is above the clock."
)
WARM = 3
"""first requests, which are not counted"""


def seconds(work: Callable[[int], Any], pictures: Sequence[int]) -> list[float]:
    """How long the work takes for each picture."""
    taken: list[float] = []
    for number in pictures:
        start = time.perf_counter()
        work(number)
        taken.append(time.perf_counter() - start)
    return taken[WARM:]


def picture(number: int) -> str:
    return f"world:vsr/{number:04d}"


def chat(number: int) -> dict[str, Any]:
    """What a client sends: the picture as PNG, and a request for a description."""
    stream = io.BytesIO()
    open_image(picture(number)).save(stream, "PNG")
    shown = {"url": f"data:image/png;base64,{base64.b64encode(stream.getvalue()).decode()}"}
    content = [{"type": "image_url", "image_url": shown}, {"type": "text", "text": "Describe the picture."}]
    return {"model": "scripted", "messages": [{"role": "user", "content": content}]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="world:aligned")
    parser.add_argument("--policy")
    parser.add_argument("--pictures", type=int, default=40)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    auditor = Auditor.load(given.model, given.policy, any_picture=True)
    pictures = range(given.pictures + WARM)
    rows: list[tuple[str, str, list[float]]] = []
    forwards: dict[str, float] = {}
    texts = {
        "one claim": (ONE, False),
        "twelve claims": (TWELVE, False),
        "twelve claims and their things": (TWELVE, True),
    }
    for name, (text, exists) in texts.items():
        fresh, before = auditor.using(Store(":memory:")), auditor.model.forwards
        found: list[int] = []

        def audit(number: int, auditor: Auditor = fresh, text: str = text, exists: bool = exists) -> None:
            told = auditor.audit_text(picture(number), text, exists=exists)
            found.append(sum(each.claim.kind == "relation" for each in told.claims))  # noqa: B023

        taken = seconds(audit, pictures)
        forwards[name] = (auditor.model.forwards - before) / len(pictures)
        assert set(found) == {1 if text is ONE else 12}, found
        rows.append((name, f"{forwards[name]:.2f}", taken))
    bodies = [chat(number) for number in pictures]
    with ExitStack() as stack:
        upstream = stack.enter_context(listening(Upstream(lambda _: TWELVE)))
        service = Service(auditor.using(Store(":memory:")), upstream=upstream.root)
        service = replace(service, limits=replace(service.limits, workers=1))
        guard = stack.enter_context(served(create_app(service)))
        client = stack.enter_context(httpx.Client(timeout=60))

        def asked(root: str) -> Callable[[int], Any]:
            return lambda number: client.post(f"{root}/v1/chat/completions", json=bodies[number]).raise_for_status()

        def audited(number: int) -> Any:
            shown = bodies[number]["messages"][0]["content"][0]["image_url"]["url"]
            return client.post(f"{guard}/v1/audit/text", json={"image": shown, "text": TWELVE}).raise_for_status()

        # One after the other for each picture: what else the machine does falls on all of them alike.
        direct, served_audit, guarded = list[float](), list[float](), list[float]()
        for number in pictures:
            for work, taken in ((asked(upstream.root), direct), (audited, served_audit), (asked(guard), guarded)):
                start = time.perf_counter()
                work(number)
                taken.append(time.perf_counter() - start)
        direct, served_audit, guarded = direct[WARM:], served_audit[WARM:], guarded[WARM:]
        last = asked(guard)(0).json()["recap"]
        assert len(last["claims"]) == 12, last
    rows += [("the same over HTTP, /v1/audit/text", "–", served_audit), ("the upstream by itself", "–", direct)]
    rows.append(("the upstream behind the guard", "–", guarded))
    print(f"{given.model}, {given.pictures} pictures; milliseconds, median and 90th percentile")
    print(f"{'':<36}{'forwards':>9}{'median':>9}{'p90':>9}")
    for name, count, taken in rows:
        ranked = sorted(taken)
        print(
            f"{name:<36}{count:>9}{1e3 * statistics.median(ranked):>9.1f}{1e3 * ranked[int(0.9 * len(ranked))]:>9.1f}"
        )
    added = statistics.median(x - y for x, y in zip(guarded, direct, strict=True))
    audit_time = statistics.median(served_audit)
    print(
        f"the guard adds {1e3 * added:.1f} ms: {added / audit_time:.2f} of an audit of the same twelve claims over HTTP"
    )
    kept = forwards["twelve claims"] <= 1 and forwards["twelve claims and their things"] <= 1 and added < audit_time
    return int(given.check and not kept)


if __name__ == "__main__":
    sys.exit(main())
