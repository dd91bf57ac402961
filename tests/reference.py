"""The method once more, slowly: loops over rows as they stand in the file, written from the paper without the product.

Every number that the product computes with sorted arrays and multiplicities is recomputed here the obvious way.
"""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np

Row = dict[str, Any]

CONTRADICTIONS = {
    "left_of": ["right_of"],
    "above": ["below"],
    "in_front_of": ["behind"],
    "inside": ["contains"],
    "on": ["below"],
}
SUPPORTS: dict[str, dict[str, float]] = {
    "left_of": {},
    "above": {},
    "in_front_of": {},
    "inside": {},
    "on": {"above": 0.5},
}


def answer(row: Row) -> str:
    return row.get("answer") or ("yes" if row["direct"]["image"] >= 0 else "no")


def is_error(row: Row) -> bool:
    return answer(row) != row["label"]


def is_hallucination(row: Row) -> bool:
    return answer(row) == "yes" and row["label"] == "no"


def x_of(row: Row, channel: str, relation: str) -> float:
    if channel == "delta":
        return row["margins"]["image"][relation] - row["margins"]["text"][relation]
    return row["margins"][channel][relation]


def claim(row: Row, channel: str) -> float:
    return x_of(row, channel, row["claim"])


def anti(row: Row, channel: str) -> float:
    return max((x_of(row, channel, a) for a in CONTRADICTIONS[row["claim"]]), default=0.0)


def failed_support(row: Row, channel: str) -> float:
    return sum(beta * max(0.0, -x_of(row, channel, s)) for s, beta in SUPPORTS[row["claim"]].items())


def answer_conditioned(row: Row, channel: str, *, competitive: bool = False) -> float:
    c, a, p = claim(row, channel), anti(row, channel), failed_support(row, channel)
    if answer(row) == "yes":
        return -(c - a - p)
    return -max(-c, a - c if competitive else a, p)


def risk(name: str, row: Row) -> float | None:
    """One risk of one row; None where it is not defined."""
    s = 1.0 if answer(row) == "yes" else -1.0
    direct = row["direct"]
    if name == "confidence":
        return -abs(direct["image"])
    if name == "yes-penalty":
        return 1.0 if s > 0 else 0.0
    if name == "prompt-sc":
        return -min(s * m for m in [direct["image"], *direct["paraphrases"]])
    if name in ("ca-bidirectional", "ca-combined"):
        return -s * direct[name.replace("-", "_")]
    if row["claim"] is None:
        return None
    if name == "bcea-flip":
        if row["claim"] != "left_of":
            return None
        asserted = "left_of" if s > 0 else "right_of"
        return -(row["margins"]["image"][asserted] - row["margins"]["flipped"][asserted])
    if name == "claim-anti":
        c, a = claim(row, "image"), anti(row, "image")
        return -(c - a) if s > 0 else -max(-c, a)
    if name == "vcd-contrast":
        clean = claim(row, "image") - anti(row, "image")
        return -s * (clean - (claim(row, "degraded") - anti(row, "degraded")))
    return {
        "recap-img": lambda: answer_conditioned(row, "image"),
        "recap-cal": lambda: answer_conditioned(row, "delta"),
        "competitive-no": lambda: answer_conditioned(row, "image", competitive=True),
        "claim-only": lambda: -s * claim(row, "image"),
        "symmetric-pair": lambda: -s * (claim(row, "image") - anti(row, "image")),
        "img-pair": lambda: -s * (claim(row, "image") - anti(row, "image")),
        "text-pair": lambda: -s * (claim(row, "text") - anti(row, "text")),
        "cal-pair": lambda: -s * (claim(row, "delta") - anti(row, "delta")),
        "claim-delta": lambda: -s * claim(row, "delta"),
        "anti-delta": lambda: s * anti(row, "delta"),
    }[name]()


def cdf(sample: list[float], value: float) -> float:
    return sum(1 for item in sample if item <= value) / len(sample)


def quantile(sample: list[float], coverage: float) -> float:
    return sorted(sample)[math.ceil(coverage * len(sample) - 1e-9) - 1]


def calibrates(seed: int, unit: str) -> bool:
    return int(hashlib.md5(f"{seed}{unit}".encode()).hexdigest()[:8], 16) % 5 == 0


def auc(values: list[float], event: list[bool]) -> float:
    pos = [v for v, z in zip(values, event, strict=True) if z]
    neg = [v for v, z in zip(values, event, strict=True) if not z]
    if not pos or not neg:
        return math.nan
    return sum((p > n) + 0.5 * (p == n) for p in pos for n in neg) / (len(pos) * len(neg))


def average_precision(values: list[float], event: list[bool]) -> float:
    total = sum(event)
    if not total:
        return math.nan
    area, true, seen = 0.0, 0, 0
    for level in sorted(set(values), reverse=True):
        group = [z for v, z in zip(values, event, strict=True) if v == level]
        true, seen = true + sum(group), seen + len(group)
        area += sum(group) / total * true / seen
    return area


def ratio(part: int, whole: int) -> float:
    return part / whole if whole else math.nan


def measure(rows: list[Row], values: list[float], accepted: list[bool]) -> dict[str, float]:
    kept = [row for row, taken in zip(rows, accepted, strict=True) if taken]
    kept_yes = [row for row in kept if row["label"] == "yes"]
    kept_no = [row for row in kept if row["label"] == "no"]
    error, hall = [is_error(row) for row in rows], [is_hallucination(row) for row in rows]
    wrong, selective, generalised = 0, 0.0, 0.0
    for k, i in enumerate(sorted(range(len(rows)), key=lambda i: values[i]), start=1):
        wrong += error[i]
        selective += wrong / k
        generalised += wrong / len(rows)
    return {
        "coverage": len(kept) / len(rows),
        "acc": ratio(sum(not is_error(row) for row in kept), len(kept)),
        "hfpr": ratio(sum(answer(row) == "yes" for row in kept_no), len(kept_no)),
        "fnr": ratio(sum(answer(row) == "no" for row in kept_yes), len(kept_yes)),
        "err_auc": auc(values, error),
        "hall_auc": auc(values, hall),
        "ap": average_precision(values, hall),
        "prevalence": sum(hall) / len(rows),
        "aurc": selective / len(rows),
        "augrc": generalised / len(rows),
        "coverage_yes": ratio(len(kept_yes), sum(row["label"] == "yes" for row in rows)),
        "coverage_no": ratio(len(kept_no), sum(row["label"] == "no" for row in rows)),
    }


def gate(rows: list[Row], draws: int = 1000, seed: int = 13) -> tuple[float, float]:
    """The two bounds, by writing every resampled set out. Units in the order of their names."""
    by_unit: dict[str, list[Row]] = {}
    for row in rows:
        by_unit.setdefault(row["unit"], []).append(row)
    units = sorted(by_unit)
    rng = np.random.default_rng(seed)
    fprs, aucs = [], []
    for picked in rng.integers(0, len(units), size=(draws, len(units))):
        sample = [row for u in picked for row in by_unit[units[u]]]
        negatives = sum(row["label"] == "no" for row in sample)
        hall = [is_hallucination(row) for row in sample]
        fprs.append(sum(hall) / negatives if negatives else 1.0)
        area = auc([-abs(row["direct"]["image"]) for row in sample], hall)
        aucs.append(0.0 if math.isnan(area) else area)
    return sorted(fprs)[math.ceil(0.975 * (draws - 1))], sorted(aucs)[math.floor(0.025 * (draws - 1))]


def selector(rows: list[Row], calibration: list[Row]) -> list[float]:
    conf = [-abs(row["direct"]["image"]) for row in calibration]
    rel = [answer_conditioned(row, "image") for row in calibration]
    return [max(cdf(conf, -abs(row["direct"]["image"])), cdf(rel, answer_conditioned(row, "image"))) for row in rows]


def deploy(mode: str, calibration: list[Row], rows: list[Row], coverage: float) -> tuple[list[float], float]:
    """Risks of the rows and the threshold, with the confidence fallback where calibration has rows outside the graph."""
    inside = [row for row in calibration if row["claim"] is not None]
    outside = [-abs(row["direct"]["image"]) for row in calibration if row["claim"] is None]

    def score(some: list[Row]) -> list[float]:
        return (
            selector(some, inside) if mode == "recap-selector" else [answer_conditioned(row, "image") for row in some]
        )

    branch = score(inside)
    if not outside:
        known = iter(score([row for row in rows if row["claim"] is not None]))
        risks = [next(known) if row["claim"] is not None else math.inf for row in rows]
        return risks, quantile(branch, coverage)

    def pooled(some: list[Row]) -> list[float]:
        known = iter(score([row for row in some if row["claim"] is not None]))
        return [
            cdf(branch, next(known)) if row["claim"] is not None else cdf(outside, -abs(row["direct"]["image"]))
            for row in some
        ]

    return pooled(rows), quantile(pooled(calibration), coverage)
