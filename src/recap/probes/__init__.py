"""Probes: the wording of questions, the views of an image, and which probes a claim needs."""

from recap.probes.cost import diagnostic_probes, planned_calls, printed_calls
from recap.probes.plan import PROBE_SETS, Plan, Probe, Role, inputs_of, merge, merge_by_image, plan_probes
from recap.probes.views import View, degraded, flipped, view_of
from recap.probes.wording import as_statement, asked_by, existence_question, question, ways

__all__ = [
    "PROBE_SETS",
    "Plan",
    "Probe",
    "Role",
    "View",
    "as_statement",
    "asked_by",
    "degraded",
    "diagnostic_probes",
    "existence_question",
    "flipped",
    "inputs_of",
    "merge",
    "merge_by_image",
    "plan_probes",
    "planned_calls",
    "printed_calls",
    "question",
    "view_of",
    "ways",
]
