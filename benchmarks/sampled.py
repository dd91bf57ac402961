"""What margins from sampled answers cost: ranking lost, verdicts changed, seconds; beside true margins of the same model.

    python -m benchmarks.sampled [--limit 800] [--json FILE]

Each bundled model answers every probe of `world:whatsup` twenty times, through the path of `--samples 20`; the first five and ten of
those answers are what fewer samples would have given. Half of the groups calibrate a policy at 80 % coverage, on sampled margins and on
true ones; verdicts are of the other half.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from recap import MarginTable
from recap.claims import default_graph
from recap.datasets import load_dataset
from recap.models.contract import Request
from recap.models.load import load_model
from recap.models.sampled import SampledLocalModel
from recap.policy import calibrate_table, load_policy
from recap.policy.closeness import sampling_errors
from recap.probing import LocalEngine, plan_job, rows_of, run_job
from recap.probing.run import ProbeRun
from recap.risks.compute import compute_risk
from recap.statistics import auroc
from recap.statistics.sampling import sampled_margin, standard_error
from recap.store import Store
from recap.world.bundled import policy_file
from recap.world.scheme import open_image

SAMPLES = (5, 10, 20)
RISKS = ("confidence", "recap-img")


def measure(name: str, limit: int) -> list[dict[str, Any]]:
    graph, items = default_graph(), _spread(load_dataset("world:whatsup").items, limit)
    model = load_model(name, samples=max(SAMPLES))
    assert isinstance(model, SampledLocalModel)
    exact = model.exact
    engine = LocalEngine(exact)
    job = plan_job(items, "img", lambda _image, questions: questions * 32, engine.tokens, graph, padded=engine.padded)
    start = time.perf_counter()
    with Store(":memory:") as store:
        true = run_job(job, exact, store, open_image)
    true_seconds = time.perf_counter() - start
    drawn: dict[Any, list[str | None]] = {}
    start = time.perf_counter()
    for batch in job.batches:
        for entry in batch:
            request = Request(None if entry.image is None else open_image(entry.image), entry.questions)
            for probe in entry.probes:
                drawn[entry.image, probe] = model.answers(probe.question, request)
    seconds = time.perf_counter() - start
    mode = load_policy(policy_file(name)).mode
    reference = MarginTable(tuple(rows_of(job, true, name, graph)), graph, source="true margins")
    known = {"model": name, "statements": len(reference), "probes": len(drawn)}
    found = [known | {"samples": 0, "seconds": true_seconds} | _figures(0, reference, reference, mode, true, true)]
    for many in SAMPLES:
        run = ProbeRun(margins={key: _margin(answers[:many]) for key, answers in drawn.items()})
        table = MarginTable(tuple(rows_of(job, run, name, graph)), graph, source=f"{many} samples")
        found.append(known | {"samples": many, "seconds": seconds} | _figures(many, table, reference, mode, run, true))
    return found


def _spread(items: Any, limit: int) -> list[Any]:
    """Whole groups of four, from all over the benchmark."""
    groups = [items[start : start + 4] for start in range(0, len(items), 4)]
    step = max(1, len(groups) * 4 // limit)
    return [item for group in groups[::step] for item in group][:limit]


def _margin(answers: list[str | None]) -> float:
    return sampled_margin(answers.count("yes") + answers.count(None) / 2, len(answers))


def _figures(
    many: int, table: MarginTable, reference: MarginTable, mode: str, run: ProbeRun, true: ProbeRun
) -> dict[str, Any]:
    """Every answer that is audited is the true margins' own: what changes is how answers are ranked, and decided on."""
    answers = ["yes" if row.says_yes else "no" for row in reference.rows]
    told, exact = _frozen(table, answers), _frozen(reference, answers)
    wrong = exact.yes != exact.positive
    # A policy for each: half of the groups calibrate it, verdicts are of the other half.
    held = np.array([int(hashlib.md5(row.unit.encode()).hexdigest(), 16) % 2 == 0 for row in exact.rows])
    policies = [calibrate_table(each.where(~held), 0.8, mode=mode) for each in (told, exact)]
    own, before = (
        policy.apply(policy.scores(each.where(held))) for policy, each in zip(policies, (told, exact), strict=True)
    )
    misfit = policies[1].apply(policies[1].scores(told.where(held)))
    changed, errors = own.accepted != before.accepted, ~(wrong[held])
    keys = list(run.margins)
    figures = {
        "auc": {risk: float(auroc(compute_risk(told, risk), wrong)) for risk in RISKS},
        "answers_changed": float((table.yes != reference.yes).mean()), "changed": float(changed.mean()),
        "changed_by_the_policy_of_true_margins": float((misfit.accepted != before.accepted).mean()),
        "accuracy": float(errors[own.accepted].mean()), "coverage": float(own.accepted.mean()),
    }  # fmt: skip
    if many:
        sampled, most = np.array([run.margins[key] for key in keys]), sampled_margin(many, many)
        away = np.abs(sampled - np.array([true.margins[key] for key in keys]).clip(-most, most))
        figures["within"] = float((away <= 2 * np.array([standard_error(each, many) for each in sampled])).mean())
        said = sampling_errors(policies[0], told.where(held).rows, told.graph, many)
        sure = np.array([each.agreement >= 0.95 for each in said])
        figures |= {
            "sure": float(sure.mean()),
            "changed_where_sure": float(changed[sure].mean()) if sure.any() else 0.0,
        }
    return figures


def _frozen(table: MarginTable, answers: list[str]) -> MarginTable:
    rows = (row.model_copy(update={"answer": answer}) for row, answer in zip(table.rows, answers, strict=True))
    return MarginTable(tuple(rows), table.graph, source=table.source)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=int, default=800)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = [row for name in ("world:aligned", "world:biased") for row in measure(name, options.limit)]
    columns = ("model", "k", "AUC confidence", "AUC recap-img", "answers changed", "verdicts changed", "accuracy of the accepted",
               "verdicts changed where ≥ 95 % of draws agree", "margins within 2 s.e.", "seconds")  # fmt: skip
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    for row in rows:
        base = next(each for each in rows if each["model"] == row["model"] and not each["samples"])
        lost = {risk: row["auc"][risk] - base["auc"][risk] for risk in RISKS}
        ranked = [f"{row['auc'][risk]:.3f}" + (f" ({lost[risk]:+.3f})" if row["samples"] else "") for risk in RISKS]
        told = ["–", "–"]
        if row["samples"]:
            told = [f"{row['changed_where_sure']:.1%} of the {row['sure']:.0%}", f"{row['within']:.0%}"]
        shares = [f"{row[name]:.1%}" for name in ("answers_changed", "changed", "accuracy")]
        cells = [row["model"], str(row["samples"] or "true margins"), *ranked, *shares, *told, f"{row['seconds']:.0f}"]
        print(f"| {' | '.join(cells)} |")
    print(
        f"\n{rows[0]['statements']} statements, {rows[0]['probes']} distinct probes; seconds are of all {max(SAMPLES)} answers, on one core"
    )
    for row in rows:
        if row["samples"]:
            share = row["changed_by_the_policy_of_true_margins"]
            print(
                f"{row['model']}, k = {row['samples']}: under the policy of true margins {share:.1%} of the verdicts would change"
            )
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
