"""Do verdicts depend on the engine, and does the noise band say so? `python -m benchmarks.engines [--limit 800] [--only bfloat16] [--json FILE]`

The same statements of `world:whatsup` through every engine that is here: this process in fp32 and bf16, in full batches and one
picture at a time, as trees and plainly; Ray where it is installed; vLLM where RECAP_VLLM_PYTHON names a Python that has it; llama.cpp
where RECAP_LLAMACPP names the folder of tests/llamacpp/build.sh. Verdicts are compared with those of fp32 in full batches, under the
policy of the model at ten coverages: a flip is another answer, or another decision. It is inside if the engine's own noise band
says "too close" of it. What share of all verdicts the band marks stands beside: a band that marks everything would say nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import transformers

sys.path.insert(0, str(Path(__file__).parents[1]))

import recap
from recap.models.contract import noise_of
from recap.models.load import load_model
from recap.policy import Policy, load_policy
from recap.policy.closeness import too_close
from recap.table import MarginTable
from recap.world.bundled import checkpoint_folder, policy_file

NAME = "world:aligned"
COVERAGES = tuple(np.linspace(0.5, 0.95, 10).round(2))


@dataclass(frozen=True)
class Measured:
    """An engine's margins, and its noise band."""

    engine: str
    table: MarginTable
    band: float


def engines(limit: int, only: str) -> Iterator[Measured]:
    """The reference first, then those whose name holds `only`."""
    full = load_model(NAME)
    yield Measured("local, fp32, full batches", _probed(full, limit), noise_of(full))
    ways: dict[str, dict[str, Any]] = {
        "local, fp32, one picture at a time": {"tokens": 1},
        "local, fp32, plainly": {"plain": True},
        "local, bfloat16, full batches": {"dtype": "bfloat16"},
        "local, bfloat16, one picture at a time": {"dtype": "bfloat16", "tokens": 1},
        "local, float16, full batches": {"dtype": "float16"},
    }
    for name, options in ways.items():
        if only in name:
            model = load_model(NAME, **options)
            yield Measured(name, _probed(model, limit), noise_of(model))
    if only in "Ray, fp32, one worker":
        with contextlib.suppress(ImportError):
            import ray  # noqa: F401

            found = recap.probe("world:whatsup", NAME, limit=limit, engine="ray", workers=1, progress=False)
            yield Measured("Ray, fp32, one worker", found.table, noise_of(full))
    if only in "vLLM, llama.cpp":
        with tempfile.TemporaryDirectory() as folder:
            yield from _served(Path(folder), limit)


def _served(folder: Path, limit: int) -> Iterator[Measured]:
    if python := os.environ.get("RECAP_VLLM_PYTHON"):
        from tests.vllm.server import Vllm

        server = Vllm(python, folder)
        server.start()
        with contextlib.closing(contextlib.ExitStack()) as stack:
            stack.callback(server.kill)
            model = load_model(server.address)
            yield Measured("vLLM, fp32", _probed(model, limit), noise_of(model))
    if kept := os.environ.get("RECAP_LLAMACPP"):
        sys.path.append(str(Path(kept) / "gguf"))
        from tests.llamacpp.convert import convert
        from tests.llamacpp.server import LlamaServer

        files = folder / "aligned.gguf", folder / "mmproj.gguf"
        convert(checkpoint_folder(NAME), *files)
        llama = LlamaServer(Path(kept) / "llama-server-corrected", *files, folder / "llama.log")
        llama.start()
        with contextlib.closing(contextlib.ExitStack()) as stack:
            stack.callback(llama.kill)
            model = load_model(llama.address)
            yield Measured("llama.cpp, fp32", _probed(model, limit), noise_of(model))


def _probed(model: Any, limit: int) -> MarginTable:
    return recap.probe("world:whatsup", model, limit=limit, progress=False).table


def compared(one: Measured, reference: MarginTable, policy: Policy) -> dict[str, Any]:
    flips = inside = marked = verdicts = 0
    margins = [_margins(table) for table in (one.table, reference)]
    for coverage in COVERAGES:
        threshold = policy.threshold_at(float(coverage))
        assert threshold is not None
        at = replace(policy, threshold=threshold, coverage=float(coverage))
        decided, before = (at.apply(at.scores(table)).accepted for table in (one.table, reference))
        flipped = (decided != before) | (one.table.yes != reference.yes)
        close = too_close(at, one.table.rows, one.table.graph, one.band)
        flips += int(flipped.sum())
        inside += int((flipped & close).sum())
        marked += int(close.sum())
        verdicts += len(flipped)
    return {
        "engine": one.engine, "band": one.band, "largest_difference": float(np.abs(margins[0] - margins[1]).max()),
        "verdicts": verdicts, "flips": flips, "inside": inside, "marked": marked / verdicts,
    }  # fmt: skip


def _margins(table: MarginTable) -> Any:
    return np.array(
        [value for row in table.rows for value in (row.direct.image or 0.0, *(row.margins["image"] or {}).values())]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=int, default=800)
    parser.add_argument("--only", default="", help="engines whose name holds this")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    policy = replace(load_policy(policy_file(NAME)), model=None)
    print(
        "| engine | noise band | largest difference of a margin | flips | inside the band | verdicts marked “too close” |"
    )
    print("|---|---|---|---|---|---|")
    reference: MarginTable | None = None
    rows: list[dict[str, Any]] = []
    for one in engines(options.limit, options.only):
        reference = one.table if reference is None else reference
        row = compared(one, reference, policy)
        rows.append(row)
        share = f"{row['inside']} of {row['flips']} ({row['inside'] / row['flips']:.1%})" if row["flips"] else "–"
        print(
            f"| {row['engine']} | {row['band']:.2g} | {row['largest_difference']:.2g} | {row['flips']} of {row['verdicts']:,} | "
            f"{share} | {row['marked']:.2%} |",
            flush=True,
        )
    flips, inside = (sum(row[name] for row in rows) for name in ("flips", "inside"))
    if flips:
        print(f"\nall engines: {inside} of {flips} flips inside the band ({inside / flips:.2%})")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
