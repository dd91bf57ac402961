"""Precision and recall of the claims that are read in the labelled sentences beside this file.

`first` was there before the extractor, which was then tuned on it; `second` was written at the same time, and no error on it was looked at
while the extractor was changed; only its totals were watched. `third` to `fifth` were written later by somebody who had not seen the other parts, and labelled before the
extractor was run on them; what they showed was then repaired, so that only the figures of their first run, kept here, say how sentences fare
that nobody has seen. `none` holds sentences without a spatial claim. `python -m tests.claims.text.benchmark` prints the table.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from recap.claims.text import extract

HERE = Path(__file__).parent
PARTS = ("first", "second", "third", "fourth", "fifth", "none")
FIRST_RUN = {"third": (169, 12, 17), "fourth": (65, 3, 4), "fifth": (46, 2, 2)}
"""claims that were right, wrong and missed when a part was read for the first time"""


@dataclass
class Count:
    right: int = 0
    wrong: int = 0
    missed: int = 0
    sentences: int = 0

    @property
    def precision(self) -> float:
        return self.right / max(1, self.right + self.wrong)

    @property
    def recall(self) -> float:
        return self.right / max(1, self.right + self.missed)


def rows(part: str) -> list[dict]:
    return [json.loads(line) for line in (HERE / f"{part}.jsonl").read_text("utf-8").splitlines()]


def counted(part: str) -> dict[str, Count]:
    """Counts by style, and `all`. A claim is right if subject, relation, object and answer are as labelled."""
    counts: dict[str, Count] = defaultdict(Count)
    for row in rows(part):
        names = ("subject", "relation", "object", "answer")
        labelled = {tuple(claim[name].lower() for name in names) for claim in row["claims"]}
        read = {tuple(getattr(claim, name).lower() for name in names) for claim in extract(row["text"]).claims}
        for count in (counts[row["style"]], counts["all"]):
            count.right += len(labelled & read)
            count.wrong += len(read - labelled)
            count.missed += len(labelled - read)
            count.sentences += 1
    return dict(counts)


def main() -> None:
    print(f"{'part':<8}{'style':<8}{'sentences':>10}{'claims':>8}{'precision':>11}{'recall':>8}")
    for part in PARTS:
        for style, count in counted(part).items():
            figures = f"{count.right + count.missed:>8}{count.precision:>11.3f}{count.recall:>8.3f}"
            read = f"{count.wrong:>8} claims read" if part == "none" else figures
            print(f"{part:<8}{style:<8}{count.sentences:>10}{read}")
        if part in FIRST_RUN:
            then = Count(*FIRST_RUN[part])
            print(
                f"{part:<8}{'(first run)':<18}{then.right + then.missed:>8}{then.precision:>11.3f}{then.recall:>8.3f}"
            )


if __name__ == "__main__":
    main()
