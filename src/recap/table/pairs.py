"""Over which pair a row's margins speak: the claim's (public contract 1), or, by mistake, the one that was asked about.

`right_of(s, o)` is audited as `left_of(o, s)`, and its margins belong to (o, s). Whoever writes them for (s, o) turns
claim and contradiction around, without any field being wrong. The direct margin gives it away: it asks the same
fact as the claim, so over many rows it goes with the claim and against the contradiction.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from recap.claims import Graph
from recap.errors import RecapError, quoted
from recap.table.row import Row

FEWEST = 5
"""rows of a relation below which nothing is said about it"""
SURE = -4.0
"""standard errors: a correlation that is negative by chance is that far off once in 30,000 relations"""


def to_canonical_pair(row: Row, graph: Graph) -> Row:
    """A row whose margins were written for the pair as asked, with each under the name it has over the claim's pair."""
    if not row.swapped:
        return row

    def renamed(relation: str) -> str:
        other = graph.inverse(relation)
        if other is None:
            raise RecapError(f"{quoted(row.id)}: {relation} has no name with its two objects swapped")
        return other

    margins = {
        channel: values and {renamed(relation): margin for relation, margin in values.items()}
        for channel, values in row.margins.items()
    }
    return row.model_copy(update={"margins": margins})


def suspicious_relations(rows: Sequence[Row], graph: Graph) -> dict[str, int]:
    """Relations whose rows look as if written for the pair as asked, and how many rows each has."""
    found: dict[str, int] = {}
    for relation in dict.fromkeys(row.relation for row in rows if row.swapped):
        triples = [_triple(row, graph) for row in rows if row.relation == relation]
        known = np.array([triple for triple in triples if triple is not None], dtype=float)
        if len(known) >= FEWEST and _against(*known.T):
            found[relation] = len(triples)
    return found


def _triple(row: Row, graph: Graph) -> tuple[float, float, float] | None:
    """The direct margin, the claim's, and that of the relation as asked, under whose name the contradiction stands."""
    claim = row.margin("image", row.claim or "")
    asked = row.margin("image", row.relation) if row.relation in graph.contradictions(row.claim or "") else None
    if row.direct.image is None or claim is None or asked is None:
        return None
    return row.direct.image, claim, asked


def _against(direct: np.ndarray, claim: np.ndarray, contradiction: np.ndarray) -> bool:
    if (direct == contradiction).all() and not (direct == claim).all():
        return True  # one sentence, one margin: what stands as the contradiction is the question itself
    difference = claim - contradiction
    if direct.std() == 0 or difference.std() == 0:
        return False
    r = float(np.clip(np.corrcoef(direct, difference)[0, 1], -0.999999, 0.999999))
    return float(np.arctanh(r)) * np.sqrt(max(len(direct) - 3, 0)) < SURE  # Fisher's z
