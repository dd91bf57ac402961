"""Small studies with the rows they are made of, and loops that measure those rows anew."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from math import ceil
from typing import Any

from recap.paper.experiments import Setting, Study
from tests import reference
from tests.tables import random_rows, table_of

Rows = list[dict[str, Any]]
SPLITS, DRAWS = 3, 40


@dataclass(frozen=True)
class Known:
    """A study and the rows of each of its settings."""

    study: Study
    rows: dict[tuple[str, str], Rows]

    def settings(self) -> list[tuple[Setting, Rows]]:
        return [(s, self.rows[s.model, s.data]) for s in self.study.settings]


def known(rows: dict[tuple[str, str], Rows], *, splits: int = SPLITS, draws: int = DRAWS) -> Known:
    """A study of these settings; all of its models are headline models, all of its data primary."""
    settings = tuple(Setting(m, d, table_of(*some), splits=splits, draws=draws) for (m, d), some in rows.items())
    models, data = (tuple(dict.fromkeys(place[i] for place in rows)) for i in (0, 1))
    return Known(Study("table", settings, headline=models, primary=data, controlled="whatsup"), rows)


@cache
def two_models() -> Known:
    """One model whose confidence the gate trusts, one that says yes too readily; margins are coarse, so ties abound."""
    shy = [changed(random_rows(seed, 80, step=0.25, bias=-0.3), unsure_when_wrong) for seed in (2, 3)]
    eager = [random_rows(seed, 44, step=0.25, bias=0.9) for seed in (10, 11)]
    places = [(model, data) for model in ("shy", "eager") for data in ("vsr", "whatsup")]
    return known(dict(zip(places, (*shy, *eager), strict=True)))


def one(rows: Rows, splits: int = 1) -> Known:
    return known({("model", "whatsup"): rows}, splits=splits)


def changed(rows: Rows, change: Callable[[dict[str, Any]], None]) -> Rows:
    """The same rows, each changed in place."""
    for row in rows:
        change(row)
    return rows


def unsure_when_wrong(row: dict[str, Any], left: float = 0.1) -> None:
    """Confidence becomes worth listening to, the more so the less of it is left; the answer stays as it is."""
    if reference.is_error(row):
        row["direct"]["image"] *= left


def answered_by_margin(row: dict[str, Any]) -> None:
    row.pop("answer", None)


def evidence_repeats_the_answer(row: dict[str, Any]) -> None:
    """RECAP-Img becomes confidence: the claim is as strong as the direct margin, and nothing speaks against it."""
    answered_by_margin(row)
    claim, direct = row["claim"], row["direct"]["image"]
    row["margins"]["image"] = {relation: direct if relation == claim else 0.0 for relation in row["margins"]["image"]}


def pooled(rows: Rows, values: Sequence[float]) -> dict[str, float]:
    """The metrics at exactly 80 % coverage."""
    order = sorted(range(len(rows)), key=lambda i: values[i])
    accepted = set(order[: ceil(0.8 * len(rows) - 1e-9)])
    return reference.measure(rows, list(values), [i in accepted for i in range(len(rows))])


def risks(name: str, rows: Rows) -> list[float]:
    """A risk of each row for which it means anything."""
    return [value for row in rows if (value := reference.risk(name, row)) is not None]


def sides(rows: Rows, seed: int) -> tuple[Rows, Rows]:
    """Calibration and held-out rows of a split."""
    calibration = [row for row in rows if reference.calibrates(seed, row["unit"])]
    return calibration, [row for row in rows if not reference.calibrates(seed, row["unit"])]


def held_out(name: str, rows: Rows, seed: int) -> dict[str, float]:
    """A fixed risk on the held-out rows of a split, under its calibration quantile."""
    calibration, held = sides(rows, seed)
    threshold, values = reference.quantile(risks(name, calibration), 0.8), risks(name, held)
    return reference.measure(held, values, [value <= threshold for value in values])
