"""What goes in and what comes out, as the API documents it."""

from __future__ import annotations

import json
from importlib import resources
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from recap.audit import ProbeResult
from recap.policy import Guarantee, Standing, Witness
from recap.policy.drift import Drift
from recap.policy.monitor import RiskState
from recap.policy.repair import Repair
from recap.policy.undecided import Undecided
from recap.server.service import Limits

_LIMITS = Limits()
EXAMPLES = json.loads(resources.files("recap.server").joinpath("examples.json").read_text("utf-8"))
"""Each can be sent as it stands; a test holds the verdict to what is answered."""

Question = Annotated[
    str, Field(min_length=3, max_length=_LIMITS.question, description="A yes/no question, or a statement.")
]
Picture = Annotated[
    str,
    Field(
        min_length=1,
        max_length=_LIMITS.image_bytes * 4 // 3 + 300,
        description="The picture as base64 or as a data: URL, or the name of a scene in the box. Never an address.",
    ),
]


class _Given(BaseModel):
    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)


class AuditRequest(_Given):
    """One answer to audit."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [EXAMPLES["audit"]]})

    image: Picture
    question: Question
    answer: Literal["yes", "no"] | None = Field(
        None, description="The answer to audit; if left out, the model's own, and yes for a statement."
    )


class BatchRequest(_Given):
    """Several answers to audit; those about one picture share its forward."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLES["batch"]]})

    audits: Annotated[list[AuditRequest], Field(min_length=1, max_length=_LIMITS.batch)]


class ParseRequest(_Given):
    """A question or statement to read."""

    text: Annotated[str, Field(min_length=1, max_length=_LIMITS.question, examples=["Is the mug left of the laptop?"])]


class AuditResponse(BaseModel):
    """The verdict with its trail."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLES["verdict"]]})

    question: str
    answer: Literal["yes", "no"]
    verdict: str = Field(
        description="accepted, rejected, corrected (the opposite is offered), cannot-be-told, uncalibrated, no-verdict"
    )
    correction: Literal["yes", "no"] | None = Field(
        None, description="The opposite answer, where the policy offers it instead; null where it does not."
    )
    accepted: bool | None = Field(description="null where nothing is calibrated, and where there is no verdict")
    no_verdict: str | None = Field(
        None,
        description="Why there is no verdict: a bundled model was not made for this picture, or does not know a thing.",
    )
    risk: float | None
    threshold: float | None
    mode: str | None
    witness: Witness | None = Field(description="What decided: claim, contradiction, support, neutral or confidence.")
    reason: str
    standing: Standing
    notes: list[str] = Field(description="What else should be known: that a part of the picture was shown only, say.")
    promise: str | None = Field(
        None,
        description="What the policy guarantees of answers that it accepts, or corrects, like this one; null: nothing.",
    )
    probes: list[ProbeResult]
    model: str = Field(description="Who answered.")
    row: dict[str, Any] = Field(description="The margins as a row of a margin table; `recap decide` reads it.")


class ErrorResponse(BaseModel):
    """What was wrong, in one line."""

    error: str


class BatchResponse(BaseModel):
    """The verdicts, in order; an audit that could not be made has an error in its place."""

    verdicts: list[AuditResponse | ErrorResponse]


class PolicyResponse(BaseModel):
    """The policy in force."""

    mode: str
    coverage: float
    threshold: float
    gate: str | None
    promise: str = Field(
        description="What is guaranteed of accepted answers, in words; that nothing is, where nothing is."
    )
    guarantee: Guarantee | None
    repair: Repair | None = Field(None, description="Which answers are corrected; null where none is.")
    undecided: Undecided | None = Field(None, description="Which answers cannot be told; null where all can.")
    model: str | None
    calibrated_on: dict[str, int]
    quantiles: list[float] | None = Field(description="Thresholds for coverages of 1 % to 100 %.")
    drift: Drift
    risk: RiskState = Field(description="What labels of accepted answers say about the risk.")


class SceneResponse(BaseModel):
    """A picture in the box, with things to ask."""

    name: str
    kind: Literal["drawing", "photograph"] = "drawing"
    things: list[str]
    questions: list[str]
    credit: str | None = Field(None, description="Who took it, and on what terms it comes along.")


class ModelResponse(BaseModel):
    """One who may answer."""

    name: str
    pictures: str | None = Field(description="What it was made for; null where no domain bounds it.")
    knows: list[str] | None = Field(description="The things that it knows; null where that is not known.")


class ScenesResponse(BaseModel):
    """The scenes in the box, and what they are to the model that is served."""

    model: str
    at_home: bool = Field(description="Whether the model was made for such drawings; to others they are only drawings.")
    models: list[ModelResponse] = Field(description="Everyone who may answer, in order of preference.")
    scenes: list[SceneResponse]
