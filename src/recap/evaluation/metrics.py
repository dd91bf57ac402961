"""Everything that is reported of one risk on one set of rows."""

from __future__ import annotations

import numpy as np

from recap import statistics as st
from recap.table import Bools, Floats, MarginTable

METRICS = {
    "coverage": "share of answers accepted",
    "acc": "accuracy of the accepted",
    "hfpr": "predicted-yes share among accepted negatives",
    "fnr": "predicted-no share among accepted positives",
    "err_auc": "AUROC against wrong answers",
    "hall_auc": "AUROC against false assertions",
    "ap": "average precision against false assertions",
    "prevalence": "share of false assertions, which a random order gives as AP",
    "aurc": "mean selective error over all coverages",
    "augrc": "mean generalised risk over all coverages",
    "coverage_yes": "share accepted among true statements",
    "coverage_no": "share accepted among false statements",
}
FOUR = {"acc": 1, "hfpr": -1, "err_auc": 1, "hall_auc": 1}
"""the metrics of most tables, and which way is better"""


def measure(risk: Floats, accepted: Bools, yes: Bools, positive: Bools) -> dict[str, float]:
    """All metrics of a risk and the set it accepts. NaN where one has no value on these rows."""
    wrong, hallucinated = st.errors(yes, positive), st.hallucinations(yes, positive)
    return {
        "coverage": float(accepted.mean()),
        "acc": st.accuracy(accepted, yes, positive),
        "hfpr": st.hallucination_fpr(accepted, yes, positive),
        "fnr": st.false_negative_rate(accepted, yes, positive),
        "err_auc": st.auroc(risk, wrong),
        "hall_auc": st.auroc(risk, hallucinated),
        "ap": st.average_precision(risk, hallucinated),
        "prevalence": float(hallucinated.mean()),
        "aurc": st.aurc(risk, wrong),
        "augrc": st.augrc(risk, wrong),
        "coverage_yes": st.share(accepted, positive),
        "coverage_no": st.share(accepted, ~positive),
    }


def direct_rates(table: MarginTable) -> dict[str, float]:
    """The answers themselves, before anything is rejected."""
    everyone = np.ones(len(table), dtype=bool)
    return {
        "acc": float((table.yes == table.positive).mean()),
        "fpr": st.hallucination_fpr(everyone, table.yes, table.positive),
        "fnr": st.false_negative_rate(everyone, table.yes, table.positive),
        "yes_rate": float(table.yes.mean()),
        "true_rate": float(table.positive.mean()),
    }
