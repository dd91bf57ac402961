"""The suites: the embedded world, for here and now; the paper's own models and benchmarks; photographs in small."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from recap.datasets import Item, load_dataset, without_shared
from recap.datasets.benchmarks import load_vsr
from recap.errors import one_of

PRIMARY = ("vsr", "whatsup")
CONTROLLED = "whatsup"
EXTERNAL = "gsr"


@dataclass(frozen=True)
class Checkpoint:
    """A model of a suite: the key that the paper's numbers are kept under, and where it is loaded from."""

    key: str
    title: str
    name: str
    """a hub name, a folder, or one in the box"""
    probes: Mapping[str, str]
    """benchmark → the probe set that its experiments need"""
    wrapped: bool = False
    """whether every question is also asked in the other wrappers (prompt robustness)"""
    dtype: str | None = None
    """what the paper ran it in on its GPU, where it says so"""


ALL = {"vsr": "all", "whatsup": "all", "gsr": "cal"}
"""a headline model: every risk on the primary benchmarks, both channels on the external one"""
FURTHER = {"vsr": "diagnostic", "whatsup": "diagnostic"}


@dataclass(frozen=True)
class Suite:
    """Which models on which benchmarks, and which part each plays."""

    name: str
    about: str
    checkpoints: tuple[Checkpoint, ...]
    prefix: str
    """before a benchmark's key: what `load_dataset` knows it by"""
    headline: tuple[str, ...]
    scale: str | None = None
    newer: str | None = None
    titles: Mapping[str, str] = field(default_factory=dict[str, str])
    quick: Mapping[str, float] = field(default_factory=dict[str, float])
    """a quick run takes one unit in so many of each benchmark"""
    primary: tuple[str, ...] = PRIMARY
    """the benchmarks of the main tables"""
    controlled: str | None = CONTROLLED
    """the benchmark with choice groups"""
    external: str | None = EXTERNAL
    """the benchmark that is transferred to"""
    calibration: Mapping[str, str] = field(default_factory=dict[str, str])
    """benchmark → another split of it, on which policies are calibrated as well"""

    def calibration_items(self, data: str, root: Path) -> tuple[Item, ...]:
        """The statements of a benchmark's other split, without the pictures that it shares with the measured one."""
        measured = {item.image for item in self.items(data, root)}
        found = load_vsr(root / data, self.calibration[data]).items
        return tuple(item for item in found if item.image not in measured)

    def items(self, data: str, root: Path | None) -> tuple[Item, ...]:
        """The labelled statements of a benchmark; those of GSR-Bench without the pictures it shares with the others."""
        loaded = load_dataset(self.prefix + data, None if root is None else root / data).items
        if data != EXTERNAL or self.prefix:
            return loaded
        others = [item for name in PRIMARY for item in load_dataset(name, None if root is None else root / name).items]
        return without_shared(loaded, others)[0]


WORLD = Suite(
    "world",
    "the embedded world: two small models and drawn benchmarks, nothing to download",
    (
        Checkpoint("world:aligned", "world:aligned", "world:aligned", ALL, wrapped=True),
        Checkpoint("world:biased", "world:biased", "world:biased", ALL),
    ),
    prefix="world:",
    headline=("world:aligned", "world:biased"),
    titles={"vsr": "world:vsr", "whatsup": "world:whatsup", "gsr": "world:gsr"},
    # As much as the gate needs to find the two regimes, at a hundredth of the units too: with half of VSR it cannot.
    quick={"vsr": 1.25, "whatsup": 2, "gsr": 4},
)
PAPER = Suite(
    "paper",
    "the paper's five checkpoints on VSR, What'sUp and GSR-Bench",
    (
        Checkpoint("qwen3-vl-8b", "Qwen3-VL-8B", "Qwen/Qwen3-VL-8B-Instruct", ALL, wrapped=True),
        Checkpoint("internvl3.5-8b", "InternVL3.5-8B", "OpenGVLab/InternVL3_5-8B-HF", ALL),
        Checkpoint("llava-1.5-7b", "LLaVA-1.5-7B", "llava-hf/llava-1.5-7b-hf", ALL, dtype="float16"),
        Checkpoint("qwen3-vl-2b", "Qwen3-VL-2B", "Qwen/Qwen3-VL-2B-Instruct", FURTHER),
        Checkpoint(
            "llava-onevision-7b",
            "LLaVA-OneVision-7B",
            "llava-hf/llava-onevision-qwen2-7b-ov-hf",
            FURTHER,
            dtype="bfloat16",
        ),
    ),
    prefix="",
    headline=("qwen3-vl-8b", "internvl3.5-8b", "llava-1.5-7b"),
    scale="qwen3-vl-2b",
    newer="llava-onevision-7b",
    titles={"vsr": "VSR", "whatsup": "What'sUp", "gsr": "GSR-Bench"},
    quick={"vsr": 4, "whatsup": 10, "gsr": 8},
)
PHOTO = Suite(
    "photo",
    "photographs: the small models for them on VSR, people's statements about photographs of your own copy",
    (
        Checkpoint("photo:coco", "photo:coco", "photo:coco", {"vsr": "all"}, wrapped=True),
        Checkpoint("photo:coco-biased", "photo:coco-biased", "photo:coco-biased", {"vsr": "all"}),
    ),
    prefix="",
    headline=("photo:coco", "photo:coco-biased"),
    titles={"vsr": "VSR"},
    quick={"vsr": 4},
    primary=("vsr",),
    controlled=None,
    external=None,
    calibration={"vsr": "dev"},
)
SUITES = {suite.name: suite for suite in (WORLD, PAPER, PHOTO)}


def suite_named(name: str) -> Suite:
    """A suite by its name."""
    one_of(name, SUITES, "a suite")
    return SUITES[name]
