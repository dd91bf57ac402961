"""What auditing a text costs: forwards and seconds for one claim and for twelve, and what the guard adds to an answer.

    python -m benchmarks.texts [--model MODEL] [--policy FILE] [--pictures N] [--upstream MS] [--check]

Each picture is a drawn scene that was not asked about before, so that no margin comes from the store. The guard stands
before a server that answers with the same twelve claims, at once and after a time that a model would take (--upstream,
200 ms). What the guard adds is the difference to asking that server itself, and is held against an audit of the same
text and picture over HTTP by the same service, which has the model as `recap serve` does, with its domain. The three
are asked in turn, in another order for each picture. With --check the exit code is 1 unless twelve claims cost one
forward and the guard adds less than one such audit to answers that take their time, about scenes and about a photograph.
Figures of time need a machine that does nothing else.
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
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from typing import Any

import httpx
from PIL import Image
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
PHOTOGRAPH = (2048, 1536)
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


def scene(number: int) -> str:
    """What a client sends of a drawn scene: a PNG."""
    return _data_url(open_image(picture(number)), "PNG")


def photograph() -> str:
    """What a client sends of a photograph, at the size to which chats reduce what a phone takes."""
    with Image.open(str(files("recap.server") / "photographs" / "coffee.jpg")) as taken:
        return _data_url(taken.convert("RGB").resize(PHOTOGRAPH), "JPEG", quality=90)


def _data_url(shown: Image.Image, kind: str, **options: Any) -> str:
    stream = io.BytesIO()
    shown.save(stream, kind, **options)
    return f"data:image/{kind.lower()};base64,{base64.b64encode(stream.getvalue()).decode()}"


def chat(shown: str) -> dict[str, Any]:
    """What a client sends: the picture, and a request for a description."""
    content = [{"type": "image_url", "image_url": {"url": shown}}, {"type": "text", "text": "Describe the picture."}]
    return {"model": "scripted", "messages": [{"role": "user", "content": content}]}


@dataclass(frozen=True)
class Added:
    """Seconds, picture by picture: an audit over HTTP, the upstream by itself, and the upstream behind the guard."""

    audit: list[float]
    direct: list[float]
    guarded: list[float]

    @property
    def seconds(self) -> float:
        """What the guard adds."""
        return statistics.median(x - y for x, y in zip(self.guarded, self.direct, strict=True))

    @property
    def share(self) -> float:
        """Of the audit."""
        return self.seconds / statistics.median(self.audit)


def added(client: httpx.Client, upstream: str, guard: str, pictures: Sequence[str]) -> Added:
    """What the guard adds, on these pictures."""

    def asked(root: str, shown: str) -> Any:
        return client.post(f"{root}/v1/chat/completions", json=chat(shown)).raise_for_status().json()

    def audited(shown: str) -> Any:
        return client.post(f"{guard}/v1/audit/text", json={"image": shown, "text": TWELVE}).raise_for_status().json()

    work: list[Callable[[str], Any]] = [audited, partial(asked, upstream), partial(asked, guard)]
    taken: list[list[float]] = [[], [], []]
    for number, shown in enumerate(pictures):
        found: dict[int, Any] = {}
        # One after the other for each picture, and each of them first in its turn: what else the machine does, and
        # what the one before has left behind, falls on all of them alike.
        for place in range(3):
            which = (number + place) % 3
            start = time.perf_counter()
            found[which] = work[which](shown)
            taken[which].append(time.perf_counter() - start)
        claims = found[2]["recap"]["claims"]
        assert len(claims) == 12, claims
        assert [each["verdict"] for each in claims] == [each["verdict"] for each in found[0]["claims"]]
    return Added(*(each[WARM:] for each in taken))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="world:aligned")
    parser.add_argument("--policy")
    parser.add_argument("--pictures", type=int, default=40)
    parser.add_argument("--upstream", type=float, default=200.0, help="milliseconds that the upstream takes")
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    served_one = Auditor.load(given.model, given.policy)
    auditor = Auditor(served_one.model, served_one.policy)  # about any picture
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
    scenes, photographs = [scene(number) for number in pictures], [photograph()] * len(pictures)
    rounds = {
        "a scene, an answer at once": (scenes, 0.0),
        f"a scene, an answer after {given.upstream:g} ms": (scenes, given.upstream / 1e3),
        f"a photograph, after {given.upstream:g} ms": (photographs, given.upstream / 1e3),
    }
    told: dict[str, Added] = {}
    with ExitStack() as stack:
        upstream = stack.enter_context(listening(Upstream(lambda _: TWELVE)))
        guard = stack.enter_context(served(create_app(Service(served_one, upstream=upstream.root))))
        client = stack.enter_context(httpx.Client(timeout=60, trust_env=False))
        for name, (shown, pause) in rounds.items():
            upstream.pause = pause
            told[name] = added(client, upstream.root, guard, shown)
    print(f"{given.model}, {given.pictures} pictures; milliseconds, median and 90th percentile")
    print(f"{'':<36}{'forwards':>9}{'median':>9}{'p90':>9}")
    for name, count, taken in rows:
        ranked = sorted(taken)
        print(
            f"{name:<36}{count:>9}{1e3 * statistics.median(ranked):>9.1f}{1e3 * ranked[int(0.9 * len(ranked))]:>9.1f}"
        )
    print(f"\nthe guard before an upstream, twelve claims; milliseconds, medians; a photograph has {PHOTOGRAPH} pixels")
    print(f"{'':<36}{'audit':>9}{'upstream':>9}{'guarded':>9}{'added':>9}{'of audit':>9}")
    for name, each in told.items():
        middle = [f"{1e3 * statistics.median(taken):>9.1f}" for taken in (each.audit, each.direct, each.guarded)]
        print(f"{name:<36}{''.join(middle)}{1e3 * each.seconds:>9.1f}{each.share:>9.2f}")
    one_forward = forwards["twelve claims"] <= 1 and forwards["twelve claims and their things"] <= 1
    less = all(told[name].share < 1 for name, (_, pause) in rounds.items() if pause)
    return int(given.check and not (one_forward and less))


if __name__ == "__main__":
    sys.exit(main())
