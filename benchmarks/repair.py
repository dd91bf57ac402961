"""What correcting answers is worth, and what "cannot be told" says: `python -m benchmarks.repair TABLE...`.

Half of the units calibrate, the others are measured; ten random halves, for several shares of wrong corrections that may be promised.
A half that cannot make the promise corrects nothing, and counts as such. Intervals are paired, with units resampled whole. With
--absent MODEL claims about things that are not in their picture are audited as well, under a policy from the table.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

import recap
from recap.evaluation.extensions import evaluate_repair, evaluate_undecided
from recap.policy import labelled_rows

HALVES = 10
SHARES = (0.1, 0.15, 0.2, 0.3, 0.4)


def halves(table: recap.MarginTable) -> list[np.ndarray]:
    """Which rows calibrate, in each of ten random halves of the units."""
    units = int(table.units.max()) + 1
    return [(np.random.default_rng([5, half]).permutation(units) < units // 2)[table.units] for half in range(HALVES)]


def absent(model: str, policy: recap.Policy, count: int) -> dict[str, dict[str, int]]:
    """The words on claims about things that are not there, by the model's own answer."""
    from recap.world.captions import absent_claims

    auditor = recap.Auditor.load(model, policy, any_picture=True)
    asked = [(claim.picture, _question(claim)) for claim in absent_claims(count)]
    told: dict[str, Counter[str]] = {"yes": Counter(), "no": Counter()}
    for start in range(0, len(asked), 50):
        for verdict in auditor.audit_many(asked[start : start + 50]):
            told[verdict.answer][verdict.word] += 1
    return {answer: dict(words) for answer, words in told.items()}


def _question(claim: object) -> str:
    from recap.probes import question

    ((subject, relation, thing), _), *_ = claim.labels.items()  # type: ignore[attr-defined]
    return question(subject, relation, thing)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="+", type=Path)
    parser.add_argument("--absent", metavar="MODEL", nargs="*", default=[], help="one for each table, by name")
    parser.add_argument("--claims", type=int, default=400, help="claims about absent things")
    options = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    for place, path in enumerate(options.tables):
        table = labelled_rows(recap.read_table(path))
        sides = halves(table)
        for share in SHARES:
            print(f"{path.stem}: repair, {evaluate_repair(table, sides, share, 0.9).verdict}", flush=True)
        print(f"{path.stem}: {evaluate_undecided(table, sides).verdict}", flush=True)
        if place < len(options.absent):
            policy = recap.calibrate(table, gate="paper", undecided=True)
            print(f"{path.stem}: absent things, {absent(options.absent[place], policy, options.claims)}", flush=True)


if __name__ == "__main__":
    main()
