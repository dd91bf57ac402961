"""Figures of the bundled models on the three world benchmarks, from their checkpoints; writes their model cards.

    python -m benchmarks.world [--store FILE] [--check [--only DATASET]]

With --check nothing is written; the exit code is 1 unless every property that the cards promise holds.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from recap.datasets import load_dataset
from recap.datasets.probing import probe_items
from recap.evaluation import evaluate
from recap.models.load import load_model
from recap.probing import LocalEngine
from recap.report.charts.loss import loss_curve
from recap.store import Store
from recap.world.bundled import MODELS, checkpoint_folder

BENCHMARKS = ("world:whatsup", "world:vsr", "world:gsr")
METRICS = ("acc", "hfpr", "hall_auc")


def figures(name: str, store: Store, datasets: tuple[str, ...] = BENCHMARKS) -> dict[str, Any]:
    model = load_model(name)
    found: dict[str, Any] = {}
    for dataset in datasets:
        items = load_dataset(dataset).items
        probed = probe_items(items, LocalEngine(model), store, source=f"{name} on {dataset}")
        result = evaluate(probed.table)
        risks = {
            risk: {metric: round(100 * result.inside[risk].to_json()[metric], 1) for metric in METRICS}
            for risk in ("confidence", "recap")
        }
        found[dataset] = {
            "statements": len(items),
            "direct": {key: round(100 * result.direct[key], 1) for key in ("acc", "fpr", "fnr")},
            "modes": result.inside["recap"].modes,
            **risks,
        }
        print(f"{name} on {dataset}: {json.dumps(found[dataset])}", flush=True)
    return found


def promises(found: dict[str, dict[str, Any]]) -> dict[str, bool]:
    aligned, biased = (found[f"world:{short}"]["world:whatsup"] for short in ("aligned", "biased"))
    return {
        "world:aligned: direct accuracy between 85 and 97 %": 85 <= aligned["direct"]["acc"] <= 97,
        "world:aligned: the veto stays in at least 18 of 20 splits": aligned["modes"]["recap-selector"] >= 18,
        "world:biased: direct FPR above 50 %": biased["direct"]["fpr"] > 50,
        "world:biased: RECAP-Img in 20 of 20 splits": biased["modes"]["recap-img"] == 20,
        "world:biased: H-FPR@80 at least 5 points lower": biased["confidence"]["hfpr"] - biased["recap"]["hfpr"] >= 5,
        "world:biased: Hall-AUC at least 5 points higher": biased["recap"]["hall_auc"]
        - biased["confidence"]["hall_auc"]
        >= 5,
    }


def table(found: dict[str, Any]) -> str:
    lines = [
        "| benchmark | statements | direct accuracy | direct FPR | gate over 20 splits | Acc@80 conf → RECAP | H-FPR@80 | Hall-AUC |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for dataset, row in found.items():
        modes = ", ".join(f"{mode} {count}" for mode, count in row["modes"].items() if count)
        pairs = " | ".join(f"{row['confidence'][m]:.1f} → {row['recap'][m]:.1f}" for m in METRICS)
        direct = row["direct"]
        lines.append(
            f"| `{dataset}` | {row['statements']:,} | {direct['acc']:.1f} | {direct['fpr']:.1f} | {modes} | {pairs} |"
        )
    return "\n".join(lines)


def card(name: str, found: dict[str, Any]) -> str:
    folder = checkpoint_folder(name)
    done = json.loads((folder / "record" / "training.json").read_text())
    plan, short = done["plan"], name.removeprefix("world:")
    stages = "\n".join(
        f"{k}. {min(s['steps'], s['stop'] or s['steps']):,} steps, {s['yes_share']:.0%} of the answers yes, learning rate "
        f"{s['rate']:g}" + (f" (on its way down over {s['steps']:,} steps)" if s["stop"] else "")
        for k, s in enumerate(plan["stages"], start=1)
    )
    relations = ", ".join(f"{key} {100 * value:.1f}" for key, value in done["development_by_relation"].items())
    return f"""# {name}

A LLaVA of {done["parameters"] / 1e6:.1f} million parameters that answers yes/no questions about where things are in drawn scenes: {MODELS[short]}.
It comes with `recap` so that every step of the method can be run without a GPU or a download. It is a demonstration:
what it does says how the method behaves on it, and is no evidence for the figures of the paper. It knows 28 things and
13 relations, and nothing of photographs: outside its domain (`domain.json`, `domain.npz`) an audit gives no verdict.

- **Architecture**: CLIP vision tower (4 layers of 256, 96 px, patch 12, 64 image tokens), two-layer projector, Llama
  (4 layers of 256), one token per word. Weights in fp16 under the published LLaVA-1.5 names; loads in
  `transformers` as `LlavaForConditionalGeneration`.
- **Asked as** `USER: <image> QUESTION ASSISTANT:` by the chat template beside it; it answers `yes` or `no`.
- **Licence**: Apache-2.0, as the package. All pictures are drawn by the package.

## Training

    python -m recap.world.training {short} --out DIR

{plan["scenes"]:,} generated scenes (seed {done["seed"]}), {plan["batch"]} scenes × {plan["questions"]} questions per step, about {done["seconds"]} s on one {done["device"]} with
torch {done["torch"]}. The same command there gives the same weights, byte for byte.

{stages}

Every relation is asked alike, in all wordings of the package (the plain question 58 %, further phrases 16 %, paraphrases 12 %,
wrappers 14 %; constraint-aware prompts in {plan["long_share"]:.0%} of the steps); {plan["blind_share"]:.0%} of the scenes are asked about without their picture. While
training, a second head tells which thing is in which cell of the picture; it is not kept. Training scenes, development scenes
and the benchmarks come from different seeds and backgrounds; the benchmarks' things are smaller and their pictures noisier.

![loss](record/curve.svg)

Loss by step: `record/training.csv`. Development accuracy by relation, in %: {relations}.

## Figures

In %, conf → deployed RECAP at 80 % coverage, held out, means over 20 splits, statements inside the relation graph. Direct figures
are over all statements.

{table(found)}

Made by `make cards` from this checkpoint. `record/policy.json` is the policy shipped for it: 80 % coverage, fitted by
`recap calibrate --gate paper` on `world:calibration`, with what texts suppose from `world:existence`
(`--presuppositions`); neither shares a picture with the benchmarks.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", help="keep margins there")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--only", choices=BENCHMARKS[:1], help="with --check: the promises need no more")
    given = parser.parse_args()
    with Store(given.store or ":memory:") as store:
        found = {
            f"world:{short}": figures(f"world:{short}", store, (given.only,) if given.only else BENCHMARKS)
            for short in MODELS
        }
    held = promises(found)
    for promise, kept in held.items():
        print(("holds  " if kept else "FAILS  ") + promise)
    if not given.check and not given.only:
        for name, each in found.items():
            folder = checkpoint_folder(name)
            (folder / "record" / "figures.json").write_text(json.dumps(each, indent=1) + "\n")
            (folder / "record" / "curve.svg").write_text(loss_curve(folder / "record" / "training.csv"))
            (folder / "README.md").write_text(card(name, each))
    sys.exit(0 if all(held.values()) else 1)


if __name__ == "__main__":
    main()
