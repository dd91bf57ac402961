"""What can be promised on a margin table: `python -m benchmarks.promises TABLE...`.

Half of the units calibrate with --risk-at-most, the others are measured; ten random halves. A half that cannot show the risk accepts
nothing, and counts as such. Modes: confidence, RECAP with the paper's gate, the utility gate, and the fitted controls.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

import recap
from recap.risks import offered

HALVES = 10
WAYS: dict[str, dict[str, str]] = {
    "confidence": {"mode": "confidence"},
    "RECAP": {"gate": "paper"},
    "utility gate": {"gate": "utility"},
    "conf-anslogit": {"mode": "conf-anslogit"},
    "probe-logit": {"mode": "probe-logit"},
    "logit-hall": {"mode": "logit-hall"},
}


def measured(table: recap.MarginTable, alpha: float, options: dict[str, str]) -> dict[str, float]:
    """Mean coverage and risk on held-out halves, and the share of halves that could promise."""
    coverage, risk = np.zeros(HALVES), np.full(HALVES, np.nan)
    units = int(table.units.max()) + 1
    for half in range(HALVES):
        calibrates = np.random.default_rng([5, half]).permutation(units) < units // 2
        rows = calibrates[table.units]
        held = table.where(~rows)
        try:
            policy = recap.calibrate(table.where(rows), risk_at_most=alpha, **options)  # type: ignore[arg-type]
        except recap.RecapError as refused:
            if "provable" not in str(refused) and "cannot be shown" not in str(refused):
                raise
            continue
        accepted = policy.apply(policy.scores(held)).accepted
        coverage[half] = accepted.mean()
        risk[half] = (held.yes != held.positive)[accepted].mean()
    known = risk[~np.isnan(risk)]
    return {
        "promised": len(known) / HALVES,
        "coverage": float(coverage.mean()),
        "risk": float(known.mean()) if len(known) else float("nan"),
        "largest risk": float(known.max(initial=0.0)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="+", type=Path)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    figures: dict[str, dict[str, float]] = {}
    for path in options.tables:
        table = recap.read_table(path)
        for alpha in (0.05, 0.1):
            for name, way in WAYS.items():
                if way.get("mode", "confidence") not in offered(table, fitted=True)[0]:
                    continue  # the table lacks what it needs
                found = figures[f"{path.stem} {alpha:g} {name}"] = measured(table, alpha, way)
                told = "  ".join(f"{key} {value:.3f}" for key, value in found.items())
                print(f"{path.stem:20s} risk ≤ {alpha:<5g} {name:15s} {told}", flush=True)
    if options.out:
        options.out.write_text(json.dumps(figures, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
