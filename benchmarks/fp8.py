"""What eight-bit matrix products change on the bundled models: margins, answers and verdicts of What'sUp-shaped work.

python benchmarks/fp8.py [STATEMENTS]
"""

from __future__ import annotations

import argparse

import numpy as np

import recap
from recap.world.bundled import policy_file

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("statements", type=int, nargs="?", help="how many; all, if not given")
STATEMENTS = parser.parse_args().statements

print("| model | margin off by, median | 99 % | answers changed | verdicts changed |")
print("|---|---|---|---|---|")
for name in ("world:aligned", "world:biased"):
    exact, rough = (
        recap.probe("world:whatsup", name, dtype=dtype, limit=STATEMENTS, progress=False).table
        for dtype in ("float32", "fp8")
    )
    direct = [np.array([row.direct.image for row in table.rows]) for table in (exact, rough)]
    off = np.abs(direct[0] - direct[1])
    answers = np.mean((direct[0] >= 0) != (direct[1] >= 0))
    verdicts = [
        np.array([each.accepted for each in recap.decide(policy_file(name), table)]) for table in (exact, rough)
    ]
    changed = np.mean(verdicts[0] != verdicts[1])
    print(
        f"| `{name}` | {np.median(off):.3f} | {np.quantile(off, 0.99):.2f} | {answers:.1%} | {changed:.1%} |",
        flush=True,
    )
