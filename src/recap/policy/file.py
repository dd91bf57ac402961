"""The policy file (public contract 3): versioned, self-contained JSON that a person can read."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from recap.errors import RecapError
from recap.files import reading, write_text
from recap.policy.gate import AUC_LIMIT, HFPR_LIMIT, Gate
from recap.policy.policy import MODES, Counts, Policy, Ranked, Staged
from recap.statistics import EmpiricalCDF
from recap.validation import explain

KIND = "recap-policy"
VERSION = 1

_Sorted = Annotated[list[FiniteFloat], Field(min_length=1)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Gate(_Part):
    eligible: bool
    verdict: str
    hfpr: FiniteFloat | None
    hfpr_upper: FiniteFloat
    hfpr_limit: FiniteFloat = HFPR_LIMIT
    hall_auc: FiniteFloat | None
    hall_auc_lower: FiniteFloat
    hall_auc_limit: FiniteFloat = AUC_LIMIT
    level: FiniteFloat
    draws: int
    seed: int
    undefined_draws: int


class _Staged(_Part):
    coverage: FiniteFloat
    threshold: FiniteFloat
    fallback_threshold: FiniteFloat


class _Ranked(_Part):
    verdict: str
    rows: Annotated[int, Field(ge=1)]
    units: Annotated[int, Field(ge=1)]
    source_threshold: FiniteFloat
    source_coverage: Annotated[FiniteFloat, Field(ge=0, le=1)]


class _Fallback(_Part):
    risk: Literal["confidence"] = "confidence"
    cdf: _Sorted


class _Counts(_Part):
    rows: Annotated[int, Field(ge=0)]
    units: Annotated[int, Field(ge=0)]
    covered: Annotated[int, Field(ge=0)]
    positive: Annotated[int, Field(ge=0)]
    answered_yes: Annotated[int, Field(ge=0)]


class _Cdfs(_Part):
    confidence: _Sorted
    recap_img: _Sorted | None = Field(alias="recap-img")
    branch: _Sorted | None = None
    reference: _Sorted | None = None


class _File(_Part):
    kind: Literal["recap-policy"] = KIND
    version: int = VERSION
    mode: str
    coverage: Annotated[FiniteFloat, Field(gt=0, le=1)]
    threshold: FiniteFloat
    gate: _Gate | None
    staged: _Staged | None
    graph: str
    model: str | None
    counts: _Counts
    ranked_on: _Ranked | None = None
    fallback: _Fallback | None
    cdfs: _Cdfs


def save_policy(policy: Policy, path: str | Path) -> None:
    """Write the policy, whole or not at all."""
    write_text(path, policy_json(policy))


def policy_json(policy: Policy) -> str:
    """The policy as text: the same policy gives the same bytes."""
    gate, staged, ranked = policy.gate, policy.staged, policy.ranked_on
    document = _File(
        mode=policy.mode,
        coverage=policy.coverage,
        threshold=policy.threshold,
        gate=None
        if gate is None
        else _Gate(
            eligible=gate.eligible,
            verdict=gate.verdict,
            hfpr=_finite(gate.hfpr),
            hfpr_upper=gate.hfpr_upper,
            hall_auc=_finite(gate.hall_auc),
            hall_auc_lower=gate.hall_auc_lower,
            level=gate.level,
            draws=gate.draws,
            seed=gate.seed,
            undefined_draws=gate.undefined,
        ),
        staged=None if staged is None else _Staged(**vars(staged)),
        graph=policy.graph,
        model=policy.model,
        counts=_Counts(**vars(policy.counts)),
        ranked_on=None if ranked is None else _Ranked(verdict=ranked.verdict, **vars(ranked)),
        fallback=None if policy.fallback_cdf is None else _Fallback(cdf=policy.fallback_cdf.values.tolist()),
        cdfs=_Cdfs.model_validate(
            {
                "confidence": policy.confidence_cdf.values.tolist(),
                "recap-img": None if policy.relation_cdf is None else policy.relation_cdf.values.tolist(),
                "branch": None if policy.branch_cdf is None else policy.branch_cdf.values.tolist(),
                "reference": None if policy.reference is None else policy.reference.values.tolist(),
            }
        ),
    )
    absent = {"ranked_on"} if ranked is None else set[str]()
    text = json.dumps(document.model_dump(by_alias=True, exclude=absent), indent=2, allow_nan=False)
    # One line for each list of numbers: a CDF of a thousand values should not bury the rest.
    return re.sub(r"\[\s+([^\[\]{}]*?)\s+\]", lambda m: "[" + re.sub(r"\s+", " ", m.group(1)) + "]", text) + "\n"


def load_policy(path: str | Path) -> Policy:
    """Read a policy file. Whether it fits a graph and a model is checked where it is used."""
    source = Path(path)
    with reading(source, "policy"):
        text = source.read_text("utf-8-sig")
    try:
        document = _File.model_validate_json(text)
    except ValidationError as error:
        if any(e["loc"] in (("kind",), ("mode",)) for e in error.errors()):
            raise RecapError(f"{source}: this is not a RECAP policy file") from None
        raise RecapError(f"{source}: {explain(error, 'the policy')}") from None
    if document.version != VERSION:
        raise RecapError(f"{source}: policy version {document.version} is not known here (this is version {VERSION})")
    if document.mode not in MODES:
        raise RecapError(f'{source}: mode: "{document.mode}" is not a mode ({", ".join(MODES)})')
    if (document.mode == "staged") != (document.staged is not None):
        raise RecapError(f"{source}: staged: a staged policy has this part, and no other does")
    if document.mode != "staged" and (document.fallback is None) != (document.cdfs.branch is None):
        raise RecapError(f"{source}: fallback and cdfs.branch belong together, but one is missing")
    if document.mode != "confidence" and document.cdfs.recap_img is None:
        raise RecapError(f"{source}: cdfs.recap-img is missing, and mode {document.mode} needs it")
    return _policy(document)


def _policy(document: _File) -> Policy:
    gate, staged, fallback, ranked = document.gate, document.staged, document.fallback, document.ranked_on
    return Policy(
        mode=document.mode,
        coverage=document.coverage,
        threshold=document.threshold,
        confidence_cdf=EmpiricalCDF.of(document.cdfs.confidence),
        relation_cdf=None if document.cdfs.recap_img is None else EmpiricalCDF.of(document.cdfs.recap_img),
        branch_cdf=None if document.cdfs.branch is None else EmpiricalCDF.of(document.cdfs.branch),
        fallback_cdf=None if fallback is None else EmpiricalCDF.of(fallback.cdf),
        gate=None
        if gate is None
        else Gate(
            np.nan if gate.hfpr is None else gate.hfpr,
            gate.hfpr_upper,
            np.nan if gate.hall_auc is None else gate.hall_auc,
            gate.hall_auc_lower,
            gate.level,
            gate.draws,
            gate.seed,
            gate.undefined_draws,
        ),
        staged=None if staged is None else Staged(**staged.model_dump()),
        graph=document.graph,
        model=document.model,
        counts=Counts(**document.counts.model_dump()),
        ranked_on=None if ranked is None else Ranked(**ranked.model_dump(exclude={"verdict"})),
        reference=None if document.cdfs.reference is None else EmpiricalCDF.of(document.cdfs.reference),
    )


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
