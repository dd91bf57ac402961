"""Labels that come back: what people found to be true of audited answers, and what it says of the promised risk."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Request
from pydantic import BaseModel, ConfigDict, Field, StrictBool, model_validator
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from recap.errors import RecapError, quoted
from recap.policy import decide
from recap.policy.monitor import RiskState
from recap.server.intake.bodies import read_document
from recap.server.metrics import Metrics
from recap.server.review import ReviewQueue, of_review
from recap.server.routes import body_schema, refusals
from recap.server.service import Service, public_name
from recap.table import MarginTable, Row, row_from_fields

MOST = 256
"""labels in one request"""
LONGEST_ROW = 64 << 10
"""bytes; verdicts' rows have two thousand. A table with a line beyond all bounds could not be read again."""
REFUSALS = refusals(
    {
        404: "Nothing is calibrated.",
        409: "The table of labels has another label for this answer.",
        507: "The table of labels is full, or cannot be written.",
    }
)


class Label(BaseModel):
    """The truth about one audited answer."""

    model_config = ConfigDict(extra="forbid")

    row: dict[str, Any] | None = Field(None, description="The `row` of its verdict; or give the `id`.")
    id: Annotated[str, Field(max_length=64)] | None = Field(
        None, description="Of an answer that `GET /v1/review` gave out, in place of `row` and `picture`."
    )
    label: Literal["yes", "no"] = Field(description="Whether the statement holds.")
    picture: Annotated[str, Field(min_length=1, max_length=400)] | None = Field(
        None,
        description="A name of the picture, the same for all its answers: of one picture, one answer counts. A row of "
        "`GET /v1/review` keeps the name that it has there.",
    )
    random: StrictBool = Field(
        True,
        description="Whether the answer was picked at random. Answers picked because they looked doubtful, as those of "
        "`GET /v1/review` are, say nothing about the risk of the others, and are not counted.",
    )

    model: Annotated[str, Field(max_length=400)] | None = Field(
        None, description="The `model` of its verdict; needed where several models are served."
    )

    @model_validator(mode="after")
    def _names_one_answer(self) -> Label:
        if [self.row is None, self.picture is None] != [self.id is not None] * 2:
            raise ValueError("give the row of a verdict and a name of its picture, or an id of the review queue")
        return self


class LabelsRequest(BaseModel):
    """Labels of audited answers."""

    model_config = ConfigDict(extra="forbid")

    labels: Annotated[list[Label], Field(min_length=1, max_length=MOST)]


class LabelsResponse(BaseModel):
    """What was counted, and what the labels say by now."""

    counted: int = Field(description="Labels of accepted answers, picked at random, of pictures not counted before.")
    written: int = Field(description="Rows added to the table of labels, if one is kept; each answer is added once.")
    risk: RiskState


def _refuse_contradictions(rows: Sequence[Row | str], labels: Sequence[str]) -> None:
    """A statement about a picture holds or does not, whatever was answered."""
    said: dict[tuple[str, ...] | str, int] = {}
    for i, (row, label) in enumerate(zip(rows, labels, strict=True)):
        about = row if isinstance(row, str) else (row.unit, row.subject, row.relation, row.object)
        first = said.setdefault(about, i)
        if labels[first] != label:
            raise RecapError(f'labels.{i}: "{label}" contradicts labels.{first}, which is about the same statement')


def add_labels(
    app: FastAPI,
    service: Service,
    metrics: Metrics,
    errors: dict[int | str, dict[str, Any]],
    queue: ReviewQueue | None = None,
) -> None:
    """`POST /v1/labels`."""
    auditor, turn = service.auditor, Lock()

    own = {str(auditor.model.identity), public_name(auditor.model.identity.name)}

    def row_of(each: Label) -> Row | str:
        """The answer; its id where that is all that is left of it, because it has a label already."""
        if each.id is not None:
            row = None if queue is None else queue.kept(each.id)
            if row is None and (queue is None or each.id not in queue.labelled):
                raise RecapError(f"no answer {quoted(each.id)} is kept for review")
            return row or each.id
        row = row_from_fields(each.row or {}, auditor.graph)
        if len(row.model_dump_json()) > LONGEST_ROW:
            raise RecapError(f"it is longer than {LONGEST_ROW >> 10} KiB")
        models, about = (
            [name for name in (each.model, row.model) if name is not None],
            f"labels are about {service.model}",
        )
        if foreign := [name for name in models if name not in own]:
            raise RecapError(f"it comes from {quoted(foreign[0])}, and {about}")
        if not models and len(service.auditors) > 1:
            raise RecapError(f"several models are served, and {about}: give the model of the verdict, too")
        if row.label not in (None, each.label):
            raise RecapError(f'its own label is "{row.label}", and "{each.label}" is given')
        return row.model_copy(update={"unit": row.unit if of_review(row) else each.picture, "label": None})

    def count(given: LabelsRequest) -> LabelsResponse:
        watch = metrics.risk
        if auditor.policy is None or watch is None:
            raise HTTPException(404, "nothing is calibrated: no answer is accepted, and no risk is watched")
        rows: list[Row | str] = []
        for i, each in enumerate(given.labels):
            try:
                rows.append(row_of(each))
            except RecapError as error:
                raise RecapError(f"labels.{i}.{'row' if each.id is None else 'id'}: {error}") from None
        _refuse_contradictions(rows, [each.label for each in given.labels])
        whole = [row for row in rows if isinstance(row, Row)]
        table = MarginTable(tuple(whole), auditor.graph, source="labels")
        decisions = iter(decide(auditor.policy, table, any_model=True, reject_foreign=True) if whole else ())
        told = [
            (row, each.label, each.random and isinstance(row, Row) and not of_review(row))
            for row, each in zip(rows, given.labels, strict=True)
        ]
        accepted = [isinstance(row, Row) and next(decisions).accepted for row in rows]
        with turn:  # requests are counted in threads, and a watch has one writer
            written = 0 if queue is None else queue.take(told)
            counted = sum(
                watch.observe(row.unit, row.says_yes, label == "yes")
                for (row, label, random), taken in zip(told, accepted, strict=True)
                if isinstance(row, Row) and taken and random
            )
            return LabelsResponse(counted=counted, written=written, risk=watch.state())

    @app.post(
        "/v1/labels",
        responses=errors | REFUSALS,
        summary="The truth about audited answers",
        openapi_extra=body_schema(LabelsRequest),
    )
    async def labels(request: Request) -> LabelsResponse:
        return await run_in_threadpool(count, await read_document(request, LabelsRequest))
