"""The demonstration as one self-contained page: no script, no network, readable in the dark and on a phone."""

from __future__ import annotations

import base64
import io
import platform
from collections.abc import Sequence
from datetime import date
from html import escape
from importlib import resources
from string import Template

import numpy as np

import recap
from recap.audit import Verdict
from recap.evaluation.charts import coverage_chart, margin_bars, risk_scale
from recap.evaluation.demo import COVERAGE, DATASET, Example, Shown
from recap.policy import SELECTOR, Policy
from recap.table import Row
from recap.world.bundled import MODELS
from recap.world.pictures import world_picture

PICTURE = 480
"""pixels of a picture on the page"""

CHOSEN = {
    "recap-img": "relation evidence alone (RECAP-Img)",
    "recap-selector": "relation evidence and confidence (RECAP-Selector)",
}


def demo_page(shown: Sequence[Shown], command: str) -> str:
    """The whole document."""
    template = resources.files("recap.evaluation").joinpath("demo_page.html").read_text("utf-8")
    examples = [example for each in shown for example in each.examples]
    cards = [_example(example, each.policy) for each in shown for example in each.examples]
    rejected = sum(not example.verdict.accepted for example in examples)
    return Template(template).substitute(
        models="\n".join(_model(each) for each in shown),
        examples="\n".join(cards),
        count=str(len(examples)),
        rejected=str(rejected),
        dataset=DATASET,
        command=escape(command),
        statements=f"{len(shown[0].table):,}",
        date=date.today().isoformat(),
        version=f"recap {recap.__version__}, Python {platform.python_version()}",
    )


def _model(shown: Shown) -> str:
    direct = shown.result.direct
    gate = shown.policy.gate
    rows = "".join(_row(shown, name, label) for name, label in (("confidence", "confidence"), ("recap", "RECAP")))
    return f"""<section class="card">
<h2><code>{escape(shown.model)}</code></h2>
<p>{escape(MODELS[shown.model.removeprefix("world:")].capitalize())}. Right in {direct["acc"]:.1%} of its answers;
says yes to {direct["fpr"]:.1%} of what is false.</p>
<p class="gate"><b>The gate chose {CHOSEN.get(shown.policy.mode, shown.policy.mode)}:</b>
{escape(gate.verdict.split(": ", 1)[-1] if gate else "")}.</p>
<table><thead><tr><th>held out, at {COVERAGE:.0%} coverage</th>
<th>accuracy</th><th>H-FPR</th><th>Hall-AUC</th></tr></thead>
<tbody>{rows}</tbody></table>
{coverage_chart(shown.curves, "wrong among accepted", at=COVERAGE)}
<p class="small">{len(shown.table):,} statements, {shown.probes:,} probes in {shown.seconds:.0f} s. Means over
{shown.result.splits} held-out splits; the bands span them.</p>
</section>"""


def _row(shown: Shown, name: str, label: str) -> str:
    found = shown.result.inside[name].to_json()
    cells = "".join(f"<td>{100 * found[metric]:.1f}</td>" for metric in ("acc", "hfpr", "hall_auc"))
    return f'<tr class="{"ours" if name == "recap" else ""}"><th>{label}</th>{cells}</tr>'


def _example(example: Example, policy: Policy) -> str:
    verdict, row = example.verdict, example.row
    bars = margin_bars([(probe.role, probe.question, probe.margin) for probe in verdict.probes])
    scale = risk_scale(*_ranks(verdict, policy), bool(verdict.accepted))
    truth = "true" if row.label == "yes" else "false"
    return f"""<article class="card">
<img src="{_data_uri(row.image or "")}" width="{PICTURE}" height="{PICTURE}" alt="{escape(_alt(row))}">
<h3>{escape(verdict.question)}</h3>
<p><code>{escape(example.model)}</code> says <b class="answer">{verdict.answer}</b>
<span class="chip {example.word}">{example.word}</span>
<span class="small">{example.rightly}: in the picture it is {truth}</span></p>
<p class="reason">{escape(_sentence(verdict.reason))}</p>
{bars}
{scale}
</article>"""


def _ranks(verdict: Verdict, policy: Policy) -> tuple[float, float]:
    """Risk and threshold as shares of the calibration answers that were no riskier."""
    risk, threshold = verdict.risk or 0.0, verdict.threshold or 0.0
    if verdict.mode == SELECTOR or policy.relation_cdf is None:
        return risk, threshold
    ranks = policy.relation_cdf(np.array([risk, threshold]))
    return float(ranks[0]), float(ranks[1])


def _sentence(reason: str) -> str:
    text = reason.split("; risk ")[0]
    return text[:1].upper() + text[1:] + "."


def _alt(row: Row) -> str:
    return f"A drawn scene with a {row.subject} and a {row.object}"


def _data_uri(name: str) -> str:
    stream = io.BytesIO()
    world_picture(name, PICTURE).save(stream, "JPEG", quality=90)
    return "data:image/jpeg;base64," + base64.b64encode(stream.getvalue()).decode()
