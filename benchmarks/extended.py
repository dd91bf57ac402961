"""Does evidence rank errors about near and far? `python -m benchmarks.extended`, a minute on one core.

The statements of `world:vsr` about near and far, probed with the extended graph; without it confidence alone audits them.
"""

from __future__ import annotations

import argparse

from recap.claims import extended_graph
from recap.datasets import load_dataset
from recap.datasets.probing import probe_items
from recap.models.load import load_model
from recap.probing import LocalEngine
from recap.risks.compute import compute_risk
from recap.statistics import auroc
from recap.store import Store


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    items = [item for item in load_dataset("world:vsr").items if item.statement.relation in ("near", "far")]
    for name in ("world:aligned", "world:biased"):
        with Store(":memory:") as store:
            table = probe_items(items, LocalEngine(load_model(name)), store, graph=extended_graph()).table
        wrong = table.yes != table.positive
        ranked = {risk: float(auroc(compute_risk(table, risk), wrong)) for risk in ("confidence", "recap-img")}
        told = ", ".join(f"{risk} {auc:.3f}" for risk, auc in ranked.items())
        print(f"{name}: {len(table)} statements, {wrong.mean():.1%} answered wrongly; AUC {told}")


if __name__ == "__main__":
    main()
