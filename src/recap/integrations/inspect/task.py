# Inspect is an optional dependency, typed only where it is installed.
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false, reportUntypedFunctionDecorator=false
"""The task `recap/spatial`: yes/no questions of a spatial benchmark, scored by `recap/audit`."""

from __future__ import annotations

import base64
import io
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser, ContentImage, ContentText
from inspect_ai.solver import generate

from recap.claims import default_graph
from recap.datasets import Item, load_dataset
from recap.datasets.probing import locate
from recap.images import open_image
from recap.integrations.inspect.scorer import audit
from recap.probes import question
from recap.schemes import scheme_of


@task
def spatial(
    dataset: str = "world:whatsup",
    root: str | None = None,
    images: str | None = None,
    first: int | None = None,
    model: str | None = None,
    policy: str | None = None,
) -> Task:
    """Statements of a benchmark as questions: `vsr`, `whatsup` or `gsr` from your own files (`root`), or a JSONL.

    `first` takes only so many of them; `model` and `policy` are those of the audit.
    The unit (picture or choice group) of each sample is in its metadata,
    for metrics that take clusters.
    """
    folder = Path(images or root or Path(dataset).parent)
    items = load_dataset(dataset, root).items[:first]
    samples = [_sample(item, folder) for item in items if item.label is not None and item.image is not None]
    return Task(
        dataset=MemoryDataset(samples, name=dataset), solver=generate(), scorer=audit(model=model, policy=policy)
    )


def _sample(item: Item, folder: Path) -> Sample:
    said = item.statement
    asked = item.question or question(said.subject, said.relation, said.object, default_graph(), naming=said.naming)
    content = [ContentImage(image=_picture(locate(folder, item.image or ""))), ContentText(text=asked)]
    return Sample(
        id=item.id,
        input=[ChatMessageUser(content=content)],
        target=item.label or "",
        metadata={"unit": item.unit, "relation": said.relation},
    )


def _picture(name: str) -> str:
    """A file as it is; a picture of the box as a data: URL, which every provider understands."""
    if scheme_of(name) is None:
        return str(Path(name).resolve())
    png = io.BytesIO()
    open_image(name).save(png, "PNG")
    return "data:image/png;base64," + base64.b64encode(png.getvalue()).decode()
