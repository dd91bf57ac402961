"""What an accepted set is worth: accuracy, false assertions, missed ones, and whom it covers."""

from __future__ import annotations

import math

from recap.arrays import Bools


def share(event: Bools, among: Bools) -> float:
    """The share of `among` that has the event; NaN when `among` is empty."""
    total = int(among.sum())
    return int((event & among).sum()) / total if total else math.nan


def accuracy(accepted: Bools, yes: Bools, positive: Bools) -> float:
    """Acc: how often the accepted answers are right."""
    return share(yes == positive, accepted)


def hallucination_fpr(accepted: Bools, yes: Bools, positive: Bools) -> float:
    """H-FPR: the predicted-yes share among accepted negatives."""
    return share(yes, accepted & ~positive)


def false_negative_rate(accepted: Bools, yes: Bools, positive: Bools) -> float:
    """FNR: the predicted-no share among accepted positives."""
    return share(~yes, accepted & positive)


def errors(yes: Bools, positive: Bools) -> Bools:
    """z_err: the answer is wrong, either way."""
    return yes != positive


def hallucinations(yes: Bools, positive: Bools) -> Bools:
    """z_hall: a relation asserted that does not hold."""
    return yes & ~positive
