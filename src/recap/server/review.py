"""The review queue: recent answers whose labels would teach the policy most, and the table that labelled ones go to."""

from __future__ import annotations

import hashlib
import logging
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Query
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from recap.claims import Graph
from recap.errors import RecapError
from recap.policy import Policy, decide
from recap.policy.queue import review_queue
from recap.probes import question
from recap.server.logs import event
from recap.server.service import Service
from recap.table import MarginTable, Row, append_table, check_appendable, read_table

KEPT = 2000
"""answers that are kept, the latest: a few MB at most"""
MOST_LABELS = 200_000
"""rows in the table; more are no longer a job for people"""
DATASETS = {True: "labels", False: "review"}
"""what the table says of a label's answer: picked at random, or because it was near the threshold"""


class ReviewQueue:
    """Rows of recent answers by id, in memory; labelled ones leave it for the table."""

    def __init__(self, path: Path, graph: Graph, model: str) -> None:
        """A table that is there already is continued; one that cannot be is refused now, not at the first label."""
        self.path, self.graph, self.model = path, graph, model
        check_appendable(path)
        known = read_table(path, graph).rows if path.exists() and path.stat().st_size else ()
        foreign = next((row.model for row in known if row.model not in (None, model)), None)
        if foreign is not None:
            raise RecapError(f'{path}: its rows come from "{foreign}", and "{model}" is served; give another --review')
        self.labelled = {row.id: row.label for row in known}
        """what is known of the answers in the table, by id"""
        self._rows = OrderedDict[str, Row]()
        self._turn = Lock()

    def __len__(self) -> int:
        return len(self._rows)

    def keep(self, row: Row) -> None:
        """One more answer that somebody may look at; the oldest gives way."""
        name = answer_id(row)
        with self._turn:
            if name not in self.labelled:
                self._rows[name] = row.model_copy(update={"id": name})
                self._rows.move_to_end(name)
                if len(self._rows) > KEPT:
                    self._rows.popitem(last=False)

    def kept(self, name: str) -> Row | None:
        """The answer of this id, while it is kept."""
        with self._turn:
            return self._rows.get(name)

    def worth(self, policy: Policy, number: int) -> MarginTable:
        """So many of the kept answers, nearest to the threshold first, one of each picture before a second of any."""
        with self._turn:
            rows = tuple(self._rows.values())
        table = MarginTable(rows, self.graph, source="the review queue")
        return MarginTable(tuple(review_queue(policy, table, number)) if rows else (), self.graph)

    def take(self, rows: Sequence[tuple[Row | str, str, bool]]) -> int:
        """Write answers with their labels to the table, each once; `True` for one that was picked at random.

        Of an answer that has a label already its id is enough.
        """
        with self._turn:
            fresh: dict[str, Row] = {}
            for i, (row, label, random) in enumerate(rows):
                name = row if isinstance(row, str) else answer_id(row)
                if self.labelled.get(name) not in (None, label):
                    told = f'labels.{i}: the table of labels has "{self.labelled[name]}" for this answer'
                    raise HTTPException(409, f"{told}; nothing was counted or written")
                if name not in self.labelled and not isinstance(row, str):
                    said = row.model_dump(include=set(Row.model_fields))
                    more = {"id": name, "dataset": DATASETS[random], "label": label, "model": self.model, "image": None}
                    fresh[name] = Row.model_validate(said | more)
            if len(self.labelled) + len(fresh) > MOST_LABELS:
                raise HTTPException(507, f"the table of labels is full: it has {len(self.labelled)} rows")
            try:
                append_table(fresh.values(), self.path)
            except RecapError as error:
                event(f"labels were not written: {error}", logging.ERROR)
                raise HTTPException(507, "the table of labels cannot be written; nothing was counted") from None
            self.labelled |= {name: row.label for name, row in fresh.items()}
            for name in fresh:
                self._rows.pop(name, None)
            return len(fresh)


def answer_id(row: Row) -> str:
    """The same for the same answer about the same picture."""
    told = (row.unit, row.subject, row.relation, row.object, "yes" if row.says_yes else "no")
    return hashlib.blake2b("\n".join(told).encode(), digest_size=12).hexdigest()


def of_review(row: Row) -> bool:
    """Whether it is a row that the queue gave out: no other has the id that follows from what it says."""
    return row.id == answer_id(row)


class ReviewAnswer(BaseModel):
    """An answer to look at."""

    id: str = Field(description="Send it back with its label: `POST /v1/labels`.")
    picture: str = Field(description="Its scene, or a digest of the bytes that were sent (BLAKE2b of the base64).")
    question: str
    answer: Literal["yes", "no"]
    verdict: str
    risk: float | None
    threshold: float
    row: dict[str, Any]


class ReviewResponse(BaseModel):
    """Answers whose labels would teach most, those first."""

    answers: list[ReviewAnswer]
    kept: int = Field(description="Answers that are kept for review.")
    labelled: int = Field(description="Rows of the table that labels go to.")


def add_review(app: FastAPI, service: Service, queue: ReviewQueue | None, errors: dict[int | str, Any]) -> None:
    """`GET /v1/review`."""

    def told(number: int) -> ReviewResponse:
        policy = service.auditor.policy
        if queue is None:
            raise HTTPException(404, "no answer is kept for review: recap serve --review TABLE keeps them")
        if policy is None:
            raise HTTPException(404, "nothing is calibrated: there is no threshold to be near to")
        table = queue.worth(policy, number)
        made = list(decide(policy, table, any_model=True, reject_foreign=True)) if len(table) else []
        answers = [
            ReviewAnswer(
                id=row.id,
                picture=row.unit,
                question=question(row.subject, row.relation, row.object, queue.graph),
                answer="yes" if row.says_yes else "no",
                verdict=each.word,
                risk=each.risk,
                threshold=each.threshold,
                row=row.model_dump(mode="json", exclude_none=True, exclude={"model", "image"}) | {"claim": row.claim},
            )
            for row, each in zip(table.rows, made, strict=True)
        ]
        return ReviewResponse(answers=answers, kept=len(queue), labelled=len(queue.labelled))

    @app.get("/v1/review", summary="The answers whose labels would teach most", responses=errors)
    async def review(number: Annotated[int, Query(ge=1, le=100)] = 20) -> ReviewResponse:
        return await run_in_threadpool(told, number)
