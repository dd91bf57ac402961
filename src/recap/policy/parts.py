"""What a policy is made of: its stages, counts, fallback and the calibration's risks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, FiniteFloat, GetPydanticSchema, NonNegativeInt, PositiveInt
from pydantic_core import core_schema

from recap.errors import RecapError
from recap.policy.scores import RELATION_RISK, Scores
from recap.risks.equations import selector
from recap.statistics import EmpiricalCDF
from recap.table import Floats

IMG, SELECTOR, CONFIDENCE, STAGED = "recap-img", "recap-selector", "confidence", "staged"
MODES = (IMG, SELECTOR, CONFIDENCE, STAGED)
"""The gate chooses between the first two. The others must be asked for, as any other risk (see `modes.py`)."""

FiniteFloats = Annotated[list[FiniteFloat], Field(min_length=1)]
CDF = Annotated[
    EmpiricalCDF,
    GetPydanticSchema(
        lambda _type, schema_of: core_schema.no_info_after_validator_function(
            EmpiricalCDF.of,
            schema_of(FiniteFloats),
            serialization=core_schema.plain_serializer_function_ser_schema(lambda cdf: cdf.values.tolist()),
        )
    ),
]
"""a list of its values in the policy file"""


@dataclass(frozen=True)
class Staged:
    """Confidence first: what is confident enough is accepted at once, only the rest is probed."""

    coverage: FiniteFloat
    """the share that confidence alone accepts on calibration"""
    threshold: FiniteFloat
    """accept at once iff R_conf is at most this"""
    fallback_threshold: FiniteFloat = 1.0
    """outside the graph, accept iff F̂_conf is at most this"""


@dataclass(frozen=True)
class Counts:
    """What a policy was fitted on."""

    rows: NonNegativeInt
    units: NonNegativeInt
    covered: NonNegativeInt
    positive: NonNegativeInt
    answered_yes: NonNegativeInt

    @classmethod
    def of(cls, scores: Scores) -> Counts:
        counted = (scores.covered, scores.positive, scores.yes)
        return cls(len(scores), scores.n_units, *(int(each.sum()) for each in counted))


@dataclass(frozen=True)
class Ranked:
    """The rows without labels on which a threshold was ranked anew, and what the calibrated one would do there."""

    rows: PositiveInt
    units: PositiveInt
    source_threshold: FiniteFloat
    source_coverage: Annotated[FiniteFloat, Field(ge=0, le=1)]
    """share of these rows that the calibrated threshold accepts"""

    @property
    def verdict(self) -> str:
        return (
            f"the threshold was ranked on {self.rows} target rows without labels; mode and CDFs are calibration's, "
            "and no label of the target chose anything"
        )


@dataclass(frozen=True, kw_only=True)
class Fallback:
    """What decides outside the graph: confidence, among calibration's answers outside it."""

    risk: Literal["confidence"] = "confidence"
    cdf: CDF


@dataclass(frozen=True)
class CDFs:
    """Calibration's risks."""

    confidence: CDF
    relation: Annotated[CDF | None, Field(alias=RELATION_RISK)]
    """None for the confidence mode, which asks for no probes"""
    branch: CDF | None = None
    """the mode's own scores inside the graph; used only beside a fallback"""
    reference: CDF | None = None
    """the risks among which the threshold was ranked, calibration's or, where `ranked_on` tells of one, the target's;
    None for staged policies, which have two scales, and in files that are older than this"""
    sample: CDF | None = None
    """one of these risks for each unit, drawn at random, for the watch over drift"""

    def score(self, mode: str, scores: Scores) -> Floats:
        """A mode's risk of rows inside the graph: R_img, R_sel or R_conf; NaN outside."""
        if mode == CONFIDENCE:
            return np.where(scores.covered, scores.confidence, np.nan)
        if mode not in MODES:
            if scores.other is None:
                raise RecapError(f"these scores lack the risk {mode}")
            return np.where(scores.covered, scores.other, np.nan)
        if mode == SELECTOR and self.relation is not None:
            score = selector(self.confidence(scores.confidence), self.relation(scores.relation))
            return np.where(scores.covered, score, np.nan)
        return scores.relation
