"""What `recap demo` tells on the terminal, and the files it leaves behind."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from recap.cli.console import notice
from recap.cli.loading import load_model, require_local
from recap.files import make_folder, write_text
from recap.policy import save_policy
from recap.progress import running
from recap.report.examples import Example
from recap.store import Store
from recap.table import write_table
from recap.world.bundled import MODELS
from recap.world.demo import DATASET, Shown, check_groups, show
from recap.world.demo_page import demo_page
from recap.world.draw import PEOPLE_SIZE
from recap.world.scheme import open_image

COLUMNS = (("coverage", "coverage"), ("acc", "accuracy"), ("hfpr", "H-FPR"), ("hall_auc", "Hall-AUC"))
EXAMPLES = {"world:aligned": 2, "world:biased": 4}


def tell(out: Path, groups: int, store: Path | None, command: str) -> None:
    """Run the demonstration: terminal, page, tables, policies and pictures."""
    console = Console(highlight=False)
    check_groups(groups)
    require_local()  # before anything is made
    make_folder(out / "pictures")
    shown: list[Shown] = []
    with Store(store or ":memory:") as kept:
        for short, about in MODELS.items():
            name = f"world:{short}"
            notice(f"{name}: loading, then probing {groups} groups of {DATASET}")
            model = load_model(name, dtype=None, device=None, attention=None, plain=False)
            with running("probes") as done:
                shown.append(show(model, kept, groups, EXAMPLES[name], done, notice))
            console.rule(f"[bold]{name}", align="left")
            console.print(about.capitalize() + ".")
            _summary(console, shown[-1])
    examples = [example for each in shown for example in each.examples]
    console.rule(f"[bold]{len(examples)} answers audited", align="left")
    for example in examples:
        _audit(console, example)
    page = _write(out, shown, command)
    console.print(f"\nPage: [bold]{escape(str(page))}[/bold]. Beside it: margin tables, policies and the pictures. Try")
    first = next((e for e in examples if not e.verdict.accepted), examples[0])
    picture = out / "pictures" / _file(first)
    console.print(
        f'  recap audit {escape(str(picture))} "{escape(first.verdict.question)}" --model {first.model}', soft_wrap=True
    )


def _summary(console: Console, shown: Shown) -> None:
    direct, gate = shown.result.direct, shown.policy.gate
    console.print(
        f"{len(shown.table):,} answers, {direct['acc']:.1%} right; yes to {direct['fpr']:.1%} of what is false. "
        f"{shown.probes:,} probes, {shown.probes / max(shown.seconds, 1e-9):.0f}/s."
    )
    console.print(f"Mode [bold]{shown.policy.mode}[/bold]: {escape(gate.verdict if gate else '')}")
    modes = ", ".join(f"{mode} {count}" for mode, count in shown.result.inside["recap"].modes.items() if count)
    console.print(f"Over {shown.result.splits} splits the gate chose: {modes}")
    grid = Grid(title=f"held out, means over {shown.result.splits} splits, %", title_justify="left")
    grid.add_column("risk")
    for _, heading in COLUMNS:
        grid.add_column(heading, justify="right")
    for name, label in (("confidence", "confidence"), ("recap", "RECAP")):
        found = shown.result.inside[name].to_json()
        style = "bold" if name == "recap" else ""
        grid.add_row(label, *(f"{100 * found[metric]:.1f}" for metric, _ in COLUMNS), style=style)
    console.print(grid)


def _audit(console: Console, example: Example) -> None:
    verdict = example.verdict
    colour = "green" if verdict.accepted else "red"
    told = f'{example.model}: {escape(verdict.question)} "{verdict.answer}"'
    console.print(f"{told} [bold {colour}]{example.verdict.word}[/], {example.rightly}")
    console.print(f"  {escape(verdict.reason)}")


def _file(example: Example) -> str:
    return (example.row.image or "picture").replace(":", "-").replace("/", "-") + ".png"


def _write(out: Path, shown: Sequence[Shown], command: str) -> Path:
    pictures = out / "pictures"
    for each in shown:
        stem = each.model.replace(":", "-")
        write_table(each.table.rows, out / f"{stem}.jsonl")
        save_policy(each.policy, out / f"{stem}-policy.json")
        for example in each.examples:
            open_image(example.row.image or "", PEOPLE_SIZE).save(pictures / _file(example))
    page = out / "demo.html"
    write_text(page, demo_page(shown, command))
    return page
