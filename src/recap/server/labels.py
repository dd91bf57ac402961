"""Labels that come back: what people found to be true of audited answers, and what it says of the promised risk."""

from __future__ import annotations

from threading import Lock
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from recap.errors import RecapError
from recap.policy import decide
from recap.policy.monitor import RiskState
from recap.server.intake.bodies import read_document
from recap.server.metrics import Metrics
from recap.server.routes import body_schema
from recap.server.service import Service
from recap.table import MarginTable, Row, row_from_fields

MOST = 256
"""labels in one request"""


class Label(BaseModel):
    """The truth about one audited answer."""

    model_config = ConfigDict(extra="forbid")

    row: dict[str, Any] = Field(description="The `row` of its verdict.")
    label: Literal["yes", "no"] = Field(description="Whether the statement holds.")
    picture: Annotated[str, Field(min_length=1, max_length=400)] = Field(
        description="A name of the picture, the same for all its answers: of one picture, one answer counts."
    )
    random: bool = Field(
        True,
        description="Whether the answer was picked at random. Answers picked because they looked doubtful say nothing "
        "about the risk of the others, and are not counted.",
    )


class LabelsRequest(BaseModel):
    """Labels of audited answers."""

    model_config = ConfigDict(extra="forbid")

    labels: Annotated[list[Label], Field(min_length=1, max_length=MOST)]


class LabelsResponse(BaseModel):
    """What was counted, and what the labels say by now."""

    counted: int = Field(description="Labels of accepted answers, picked at random, of pictures not counted before.")
    risk: RiskState


def add_labels(app: FastAPI, service: Service, metrics: Metrics, errors: dict[int | str, dict[str, Any]]) -> None:
    """`POST /v1/labels`."""
    auditor, turn = service.auditor, Lock()

    def count(given: LabelsRequest) -> LabelsResponse:
        watch = metrics.risk
        if auditor.policy is None or watch is None:
            raise HTTPException(404, "nothing is calibrated: no answer is accepted, and no risk is watched")
        rows: list[Row] = []
        for i, each in enumerate(given.labels):
            try:
                rows.append(row_from_fields(each.row, auditor.graph))
            except RecapError as error:
                raise RecapError(f"labels.{i}.row: {error}") from None
        table = MarginTable(tuple(rows), auditor.graph, source="labels")
        decisions = list(decide(auditor.policy, table, any_model=True, reject_foreign=True))
        with turn:  # requests are counted in threads, and a watch has one writer
            counted = sum(
                watch.observe(each.picture, row.says_yes, each.label == "yes")
                for each, row, decision in zip(given.labels, rows, decisions, strict=True)
                if decision.accepted and each.random
            )
            return LabelsResponse(counted=counted, risk=watch.state())

    @app.post(
        "/v1/labels",
        responses=errors,
        summary="The truth about audited answers",
        openapi_extra=body_schema(LabelsRequest),
    )
    async def labels(request: Request) -> LabelsResponse:
        return await run_in_threadpool(count, await read_document(request, LabelsRequest))
