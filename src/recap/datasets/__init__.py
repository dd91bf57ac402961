"""Datasets: the benchmarks of the paper read from their official files, and a plain JSONL of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from recap.claims import Graph
from recap.datasets.benchmarks import load_gsr, load_vsr, load_whatsup, without_shared
from recap.datasets.dataset import Dataset
from recap.datasets.official import BENCHMARKS
from recap.datasets.reading import Loaded, load_own, load_records
from recap.datasets.stats import dataset_stats
from recap.errors import RecapError, did_you_mean
from recap.plugins import FAILURES, installed, load_plugin, told_by
from recap.probing import Item
from recap.schemes import scheme_of
from recap.table.records import ENDINGS

DATASETS = {
    dataset.name: dataset
    for dataset in (
        Dataset(
            "vsr",
            "Visual Spatial Reasoning, random test split: captions on COCO photographs, 66 relations",
            2195,
            ("random/test.jsonl",),
            "annotations Apache-2.0; images under COCO's terms",
            "github.com/cambridgeltl/visual-spatial-reasoning",
            load_vsr,
        ),
        Dataset(
            "whatsup",
            "What'sUp, controlled A and B: four captions per staged photograph, one of them true",
            3280,
            ("controlled_images_dataset.json", "controlled_clevr_dataset.json"),
            "MIT",
            "github.com/amitakamath/whatsup_vlms",
            load_whatsup,
        ),
        Dataset(
            "gsr",
            "GSR-Bench, COCO- and GQA-Spatial-Two: a true and a false caption per image",
            1462,
            ("coco_qa_two_obj.json", "vg_qa_two_obj.json"),
            "annotations MIT; images under COCO's and Visual Genome's terms",
            "github.com/amitakamath/whatsup_vlms",
            load_gsr,
        ),
        *BENCHMARKS,
    )
}
"""the paper's benchmarks, then others"""


def load_dataset(name: str, root: str | Path | None = None, graph: Graph | None = None) -> Loaded:
    """A named benchmark from the folder with its official files, one of the embedded world, or a JSONL file."""
    scheme = scheme_of(name)
    if scheme is not None:
        return scheme.load_dataset(name)
    if name in DATASETS:
        if root is None:
            files, home = " and ".join(DATASETS[name].files), DATASETS[name].home
            how = f"from {home}" if DATASETS[name] in BENCHMARKS else f"recap data fetch {name}"
            raise RecapError(f"{name} is read from a folder of yours: give --root DIR, holding {files} ({how})")
        return DATASETS[name].load(Path(root))
    if name in installed("datasets") and not Path(name).exists():
        return _packaged(name, root, graph)
    own = Path(name) if root is None else Path(root) / name
    if own.suffix.lower() in ENDINGS or own.exists():
        return load_own(own, graph)
    known = [*DATASETS, *installed("datasets")]
    raise RecapError(
        f'"{name}" is not a dataset{did_you_mean(name, known)} ({", ".join(known)}, '
        "world:whatsup, world:vsr, world:gsr, or a .jsonl, .csv or .parquet file)"
    )


def _packaged(name: str, root: str | Path | None, graph: Graph | None) -> Loaded:
    """A dataset that another package brings: a function of the folder that is given, or of None."""
    load = load_plugin("datasets", name)
    if not callable(load):
        raise RecapError(f"{told_by('datasets', name)} is no function that gives statements")
    try:
        found: Any = load(None if root is None else Path(root))
        return found if isinstance(found, Loaded) else load_records(found, name, graph)
    except RecapError:
        raise
    except FAILURES as error:
        raise RecapError(f"{name}: cannot load the dataset: {type(error).__name__}: {error}") from error


__all__ = ["DATASETS", "Dataset", "Item", "Loaded", "dataset_stats", "load_dataset", "without_shared"]
