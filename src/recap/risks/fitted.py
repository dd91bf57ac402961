# scikit-learn types its functions only in part.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Risks that are fitted: logistic models of what goes wrong, trained on the labelled calibration rows and nothing else.

They are the paper's supervised controls. RECAP's own risks are fixed formulas; these say what labels could add.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field, FiniteFloat

from recap.arrays import Bools, Floats
from recap.errors import RecapError
from recap.risks import equations as eq
from recap.risks.margins import Margins
from recap.risks.registry import DEGRADED_PAIR, DIRECT, IMAGE, RISKS, TEXT, Risk
from recap.statistics import errors, hallucinations

Features = Callable[[Margins], Floats]
Target = Callable[[Bools, Bools], Bools]
"""of answers and labels"""

FUSED = ("confidence", "vcd-contrast", "recap-img", "recap-cal")
"""the risks that Logit-Hall gets beside the probes"""


def available() -> bool:
    """Whether scikit-learn is there to fit with."""
    return importlib.util.find_spec("sklearn") is not None


def _confidence_and_answer(m: Margins) -> Floats:
    """Confidence, the answer, and their interaction."""
    confident, yes = -eq.confidence(m.direct), m.yes.astype(float)
    return np.column_stack([confident, yes, confident * yes])


def _raw_probes(m: Margins) -> Floats:
    """Direct, claim, contradiction and support margins before anything is summarised, and the relation's family."""
    image = m.table.channel("image")
    families = sorted(m.table.graph.families)
    named = np.array(m.table.families, dtype=str)
    indicators = np.column_stack([named == family for family in families]).astype(float)
    # A claim without such an edge has no such margin: zero says nothing either way.
    edges = np.where(image.contradiction_edges, image.contradictions, 0.0)
    supports = np.where(image.support_weights > 0, image.supports, 0.0)
    # As many columns as the graph has edges of a claim, whichever claims these rows make: a fit reads them by place.
    known = m.table.graph.relations.values()
    edges = _widened(edges, max(len(each.contradictions) for each in known))
    supports = _widened(supports, max(len(each.supports) for each in known))
    return np.column_stack([m.direct, image.claim, edges, supports, indicators])


def _widened(columns: Floats, width: int) -> Floats:
    return np.pad(columns, ((0, 0), (0, width - columns.shape[1])))


def _everything(m: Margins) -> Floats:
    return np.column_stack([_raw_probes(m), *(RISKS[name].formula(m, m) for name in FUSED)])


@dataclass(frozen=True)
class Fit:
    """A fitted risk, as numbers that a file can keep: standardised features, their weights, and the intercept.

    Where calibration saw only one outcome there is nothing to tell apart: weights are zero, and every row is alike.
    """

    middle: list[FiniteFloat]
    spread: list[Annotated[FiniteFloat, Field(gt=0)]]
    weights: Annotated[list[FiniteFloat], Field(min_length=1)]
    intercept: FiniteFloat

    def __post_init__(self) -> None:
        if not len(self.middle) == len(self.spread) == len(self.weights):
            counts = f"{len(self.middle)}, {len(self.spread)} and {len(self.weights)} numbers"
            raise ValueError(f"middle, spread and weights have {counts}, and must have as many each")

    def __call__(self, features: Floats) -> Floats:
        """Probability of the event."""
        if not any(self.weights):
            return np.full(len(features), float(self.intercept > 0))
        with np.errstate(over="ignore", invalid="ignore"):  # of weights that no fit gives, as a damaged file may hold
            scaled = (features - np.array(self.middle)) / np.array(self.spread)
            odds = np.clip(scaled @ np.array(self.weights) + self.intercept, -LARGEST, LARGEST)
        if np.isnan(odds).any():
            raise RecapError("the weights of the fitted risk are beyond all bounds: the fitted part is damaged")
        return 1 / (1 + np.exp(-odds))


LARGEST = 500.0
"""log-odds beyond which a probability is 0 or 1 all the same"""


def fit(known: Floats, event: Bools) -> Fit:
    """L2-regularised logistic regression on standardised features."""
    middle, spread = known.mean(axis=0), known.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    if event.all() or not event.any():
        return Fit(middle.tolist(), spread.tolist(), [0.0] * known.shape[1], LARGEST if event.all() else -LARGEST)
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=1.0, max_iter=2000).fit((known - middle) / spread, event)
    return Fit(middle.tolist(), spread.tolist(), model.coef_[0].tolist(), float(model.intercept_[0]))


def _fitted(name: str, needs: tuple[str, ...], features: Features, target: Target, about: str) -> Risk:
    FEATURES[name], TARGETS[name] = features, target

    def formula(m: Margins, calibration: Margins) -> Floats:
        return fit(features(calibration), target(calibration.yes, calibration.table.positive))(features(m))

    return Risk(name, needs, formula, about, calibrated=True, fitted=True)


FEATURES: dict[str, Features] = {}
TARGETS: dict[str, Target] = {}


def fit_risk(name: str, m: Margins) -> Fit:
    """A fitted risk of this name, trained on labelled rows that it is defined for."""
    return fit(FEATURES[name](m), TARGETS[name](m.yes, m.table.positive))


def apply_fit(name: str, fitted: Fit, m: Margins) -> Floats:
    """The risk of other rows."""
    features = FEATURES[name](m)
    if features.shape[1] != len(fitted.weights):
        raise RecapError(
            f"{name} was fitted to {len(fitted.weights)} inputs, and has {features.shape[1]} with this relation graph: "
            "calibrate again, or name the graph that the policy was made with"
        )
    return fitted(features)


FITTED: dict[str, Risk] = {
    risk.name: risk
    for risk in (
        _fitted("conf-anslogit", DIRECT, _confidence_and_answer, errors, "error from confidence and answer, fitted"),
        _fitted("probe-logit", DIRECT + IMAGE, _raw_probes, errors, "error from the raw probe margins, fitted"),
        _fitted(
            "logit-hall",
            DIRECT + IMAGE + TEXT + DEGRADED_PAIR,
            _everything,
            hallucinations,
            "hallucination from probes, confidence, VCD and RECAP risks, fitted: an upper bound",
        ),
    )
}
