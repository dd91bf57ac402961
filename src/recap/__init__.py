"""RECAP audits yes/no answers about where things are in a picture, after a vision-language model has given them.

A claim becomes probes; a model turns probes into margins; margins become evidence and a risk; a policy turns the
risk into accept or reject, with the witness that decided.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from recap.audit import Auditor, Verdict, replay
    from recap.claims import Claim, Graph, Statement, load_graph, parse
    from recap.errors import RecapError
    from recap.evaluation import Evaluation, evaluate
    from recap.paper.reproduce import reproduce
    from recap.policy import Decision, Policy, calibrate_table, decide, load_policy, save_policy
    from recap.probes import Plan, Probe, View, plan_probes
    from recap.risks import RISKS, compute_risk
    from recap.table import MarginTable, Row, read_table, write_table

# Names are loaded when first used: `import recap` stays light, and `recap --help` needs no numpy.
_PUBLIC = {
    "Auditor": "recap.audit",
    "Claim": "recap.claims",
    "Decision": "recap.policy",
    "Evaluation": "recap.evaluation",
    "Graph": "recap.claims",
    "MarginTable": "recap.table",
    "Plan": "recap.probes",
    "Policy": "recap.policy",
    "Probe": "recap.probes",
    "RISKS": "recap.risks",
    "RecapError": "recap.errors",
    "Row": "recap.table",
    "Statement": "recap.claims",
    "Verdict": "recap.audit",
    "View": "recap.probes",
    "calibrate_table": "recap.policy",
    "compute_risk": "recap.risks",
    "decide": "recap.policy",
    "evaluate": "recap.evaluation",
    "load_graph": "recap.claims",
    "load_policy": "recap.policy",
    "parse": "recap.claims",
    "plan_probes": "recap.probes",
    "read_table": "recap.table",
    "replay": "recap.audit",
    "reproduce": "recap.paper.reproduce",
    "save_policy": "recap.policy",
    "write_table": "recap.table",
}

__all__ = [
    "RISKS",
    "Auditor",
    "Claim",
    "Decision",
    "Evaluation",
    "Graph",
    "MarginTable",
    "Plan",
    "Policy",
    "Probe",
    "RecapError",
    "Row",
    "Statement",
    "Verdict",
    "View",
    "__version__",
    "calibrate_table",
    "compute_risk",
    "decide",
    "evaluate",
    "load_graph",
    "load_policy",
    "parse",
    "plan_probes",
    "read_table",
    "replay",
    "reproduce",
    "save_policy",
    "write_table",
]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'recap' has no attribute {name!r}")
    return getattr(importlib.import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC})
