"""The demonstration on the embedded world: probe, calibrate, measure on what was held out, and audit six pictures.

Its page is self-contained: no script, no network, readable in the dark and on a phone.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import recap
from recap.audit import Auditor
from recap.datasets import load_dataset
from recap.datasets.probing import Progress, probe_items
from recap.errors import RecapError
from recap.evaluation.protocol import BASELINE, DEPLOYED
from recap.evaluation.result import Evaluation
from recap.files import make_folder, write_text
from recap.models import LikelihoodModel
from recap.models.load import load_model, require_local
from recap.paper.collect import Watch, some_units
from recap.paper.examples import card_of
from recap.paper.experiments import Setting
from recap.paper.experiments.deployment.coverage_curves import banded, held_out_curves
from recap.policy import Policy, calibrate_table, decide, save_policy
from recap.probes import question
from recap.probing import LocalEngine
from recap.progress import running
from recap.report.charts import Curve, coverage_chart
from recap.report.examples import Example, pick
from recap.report.page import render
from recap.store import Store
from recap.table import MarginTable, write_table
from recap.world.bundled import MODELS
from recap.world.draw import PEOPLE_SIZE
from recap.world.scheme import open_image

DATASET = "world:whatsup"
FEWEST, MOST = 40, 820
EXAMPLES = {"world:aligned": 2, "world:biased": 4}
MODES = {
    "recap-img": "relation evidence alone (RECAP-Img)",
    "recap-selector": "relation evidence and confidence (RECAP-Selector)",
}


@dataclass(frozen=True)
class ModelDemo:
    """One model's part of the demonstration."""

    model: str
    table: MarginTable
    policy: Policy
    """fitted on the calibration groups of split 0"""
    result: Evaluation
    curves: tuple[Curve, ...]
    """wrong answers among the accepted, over coverage, of confidence and of RECAP"""
    probes: int
    seconds: float
    examples: tuple[Example, ...]


@dataclass(frozen=True)
class Demo:
    """What was measured, and where the page is; tables, policies and pictures lie beside it."""

    page: Path
    models: tuple[ModelDemo, ...]

    @property
    def examples(self) -> list[Example]:
        """All audited answers."""
        return [example for each in self.models for example in each.examples]

    def picture(self, example: Example) -> Path:
        """The picture that an answer is about."""
        return self.page.parent / "pictures" / f"{(example.row.image or '').replace(':', '-').replace('/', '-')}.png"


def demo(
    out: str | Path = "recap-demo",
    *,
    groups: int = 300,
    store: str | Path | None = None,
    progress: Watch = running,
    say: Callable[[str], None] = lambda _: None,
    load: Callable[..., LikelihoodModel] = load_model,
) -> Demo:
    """Demonstrate both bundled models on so many choice groups, and write page, tables, policies and pictures."""
    if not FEWEST <= groups <= MOST:
        raise RecapError(f"groups is {groups}; between {FEWEST} and {MOST} can be shown")
    require_local()  # before anything is made
    folder = Path(out)
    make_folder(folder / "pictures")
    models: list[ModelDemo] = []
    with Store(store or ":memory:") as margins:
        for name in EXAMPLES:
            say(f"{name}: loading, then probing {groups} groups of {DATASET}")
            with progress("probes") as done:
                models.append(_measure(load(name, say=say), margins, groups, done))
    made = Demo(folder / "demo.html", tuple(models))
    for each in models:
        stem = each.model.replace(":", "-")
        write_table(each.table.rows, folder / f"{stem}.jsonl")
        save_policy(each.policy, folder / f"{stem}-policy.json")
    for example in made.examples:
        open_image(example.row.image or "", PEOPLE_SIZE).save(made.picture(example))
    page = render(
        "world/demo.html",
        models=models,
        about=MODELS,
        modes=MODES,
        chart=coverage_chart,
        coverage=models[0].result.coverage,
        examples=[card_of(example) for each in models for example in each.examples],
        dataset=DATASET,
        command=f"recap demo --groups {groups}",
        date=date.today().isoformat(),
        version=f"recap {recap.__version__}, Python {platform.python_version()}",
    )
    write_text(made.page, page)
    return made


def _measure(model: LikelihoodModel, store: Store, groups: int, progress: Progress) -> ModelDemo:
    name = model.identity.name
    items = some_units(load_dataset(DATASET).items, MOST / groups)
    probing = probe_items(items, LocalEngine(model), store, source=f"{name} on {DATASET}", progress=progress)
    setting = Setting(name, DATASET, probing.table)
    side = setting.sides[0]
    policy, held = calibrate_table(setting.table.where(side)), setting.table.where(~side)
    picked = pick(list(decide(policy, held)), held.rows, EXAMPLES[name])
    verdicts = Auditor(model, policy, held.graph, store).audit_many(
        [(row.image or "", question(row.subject, row.relation, row.object)) for row in picked]
    )
    curves = held_out_curves(setting, (BASELINE, DEPLOYED))
    drawn = {"confidence": ("conf", BASELINE), "RECAP": ("recap", DEPLOYED)}
    return ModelDemo(
        model=name,
        table=probing.table,
        policy=policy,
        result=setting.evaluation,
        curves=tuple(c for t, (style, key) in drawn.items() if (c := banded(t, style, 1 - curves[key]["acc"]))),
        probes=probing.ran.computed + probing.ran.found,
        seconds=probing.ran.seconds,
        examples=tuple(Example(name, row, verdict) for row, verdict in zip(picked, verdicts, strict=True)),
    )
