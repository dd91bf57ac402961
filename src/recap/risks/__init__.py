"""Risks: the paper's equations and every baseline, as pure functions over a margin table."""

from recap.risks.compute import compute_risk, offered, require_inputs, risk_named
from recap.risks.fitted import FITTED
from recap.risks.margins import Margins, Witnesses
from recap.risks.own import is_own, load_risks, register_risk
from recap.risks.registry import RISKS, Risk

__all__ = ["FITTED", "RISKS", "Margins", "Risk", "Witnesses", "compute_risk", "offered", "require_inputs"]
__all__ += ["is_own", "load_risks", "register_risk", "risk_named"]
