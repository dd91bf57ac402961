"""RECAP audits yes/no answers about where things are in a picture, after a vision-language model has given them.

A claim becomes probes; a model turns probes into margins; margins become evidence and a risk; a policy turns the
risk into accept or reject, with the witness that decided.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0.dev0"

if TYPE_CHECKING:
    from recap.audit import Auditor, Verdict, replay
    from recap.claims import Claim, Graph, Statement, load_graph, parse
    from recap.claims.text import Extraction, TextClaim, extract
    from recap.commands import calibrate, decide, label, queue, score
    from recap.datasets.logs import Imported, import_log
    from recap.datasets.probing import Probing, probe
    from recap.errors import RecapError
    from recap.evaluation import Comparison, Evaluation, compare, evaluate
    from recap.evaluation.planning import LabelPlan, plan_labels
    from recap.models.function import FunctionModel
    from recap.paper.reproduce import reproduce
    from recap.policy import Decision, Policy, calibrate_table, load_policy, save_policy
    from recap.probes import Plan, Probe, View, plan_probes
    from recap.risks import RISKS, Margins, compute_risk, register_risk
    from recap.routing import BundledAuditor
    from recap.table import MarginTable, Row, read_table, write_table
    from recap.texts import ClaimVerdict, TextVerdict
    from recap.world.demo import demo

# Names are loaded when first used: `import recap` stays light, and `recap --help` needs no numpy.
_ROOMS = {
    "audit": "Auditor Verdict replay",
    "claims": "Claim Graph Statement load_graph parse",
    "claims.text": "Extraction TextClaim extract",
    "commands": "calibrate decide label queue score",
    "datasets.logs": "Imported import_log",
    "datasets.probing": "Probing probe",
    "errors": "RecapError",
    "evaluation": "Comparison Evaluation compare evaluate",
    "evaluation.planning": "LabelPlan plan_labels",
    "paper.reproduce": "reproduce",
    "policy": "Decision Policy calibrate_table load_policy save_policy",
    "probes": "Plan Probe View plan_probes",
    "models.function": "FunctionModel",
    "risks": "RISKS Margins compute_risk register_risk",
    "routing": "BundledAuditor",
    "texts": "ClaimVerdict TextVerdict",
    "table": "MarginTable Row read_table write_table",
    "world.demo": "demo",
}
_PUBLIC = {name: f"recap.{room}" for room, names in _ROOMS.items() for name in names.split()}

__all__ = [
    "RISKS",
    "Auditor",
    "BundledAuditor",
    "Claim",
    "ClaimVerdict",
    "Comparison",
    "Decision",
    "Evaluation",
    "Extraction",
    "FunctionModel",
    "Graph",
    "Imported",
    "LabelPlan",
    "MarginTable",
    "Margins",
    "Plan",
    "Policy",
    "Probe",
    "Probing",
    "RecapError",
    "Row",
    "Statement",
    "TextClaim",
    "TextVerdict",
    "Verdict",
    "View",
    "__version__",
    "calibrate",
    "calibrate_table",
    "compare",
    "compute_risk",
    "decide",
    "demo",
    "evaluate",
    "extract",
    "import_log",
    "label",
    "load_graph",
    "load_policy",
    "parse",
    "plan_labels",
    "plan_probes",
    "probe",
    "queue",
    "read_table",
    "register_risk",
    "replay",
    "reproduce",
    "save_policy",
    "score",
    "write_table",
]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'recap' has no attribute {name!r}")
    return getattr(importlib.import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC})
