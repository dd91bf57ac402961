# safetensors types its own functions only in part.
# pyright: reportUnknownVariableType=false
"""A continued checkpoint as a small difference from the one that it began with: `COCO BIASED OUT`.

Both are alike but for the rates of a short training. What is kept of it is the change of the decoder's last layer, of
the norm behind it and of the output matrix, `--times` as large, since the rest of the change is left out. `OUT` is a
checkpoint of two weight files, in the usual format of several: an index names `difference.safetensors` for these
tensors and COCO's own file, by its place relative to OUT, for all others. Nothing is stored twice.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save

from recap.errors import RecapError, reason
from recap.files import atomic_write, make_folder, write_text

WHOLE = "model.safetensors"
INDEX = "model.safetensors.index.json"
OWN = "difference.safetensors"
"""sorts behind any "../": transformers reads a checkpoint's files in order, and of two tensors keeps the later"""
TIMES = 2.5
"""As often as the whole continuation says yes to VSR's dev statements, so often does the difference at this factor:
85 % of the first 212 inside the graph (coco 51 %), 64 % of them right (65 %)."""
SETTINGS = (
    "chat_template.jinja", "config.json", "generation_config.json", "processor_config.json", "tokenizer.json",
    "tokenizer_config.json",
)  # fmt: skip


def is_kept(name: str, layers: int) -> bool:
    """Whether a tensor belongs to the decoder's end.

    >>> is_kept("language_model.model.layers.5.mlp.up_proj.weight", 6), is_kept("vision_tower.place", 6)
    (True, False)
    """
    ends = (f"language_model.model.layers.{layers - 1}.", "language_model.model.norm.", "language_model.lm_head.")
    return name.startswith(ends)


def difference(first: Path, continued: Path, times: float) -> dict[str, np.ndarray]:
    """The tensors that replace those of `first`: its own, and `times` their change."""
    old, new = _weights(first), _weights(continued)
    if {name: each.shape for name, each in old.items()} != {name: each.shape for name, each in new.items()}:
        raise RecapError(f"{continued}: its tensors are not those of {first}; it was not trained from there")
    layers = json.loads((first / "config.json").read_text("utf-8"))["text_config"]["num_hidden_layers"]
    found: dict[str, np.ndarray] = {}
    for name, each in old.items():
        if is_kept(name, layers):
            before, after = each.astype(np.float32), new[name].astype(np.float32)
            found[name] = (before + np.float32(times) * (after - before)).astype(each.dtype)
    return found


def write_difference(first: Path, continued: Path, out: Path, times: float = TIMES) -> None:
    """The checkpoint of two weight files, with the continued one's settings and record."""
    if out.resolve() in (first.resolve(), continued.resolve()):
        raise RecapError(f"{out}: is one of the two checkpoints; give another folder")
    own, done = difference(first, continued, times), _record(continued)
    make_folder(out / "record")
    for name in SETTINGS:
        shutil.copyfile(continued / name, out / name)
    with atomic_write(out / OWN) as stream:
        stream.write(save(own, metadata={"format": "pt"}))
    base = Path(os.path.relpath(first.resolve() / WHOLE, out.resolve())).as_posix()
    sizes = {name: int(each.nbytes) for name, each in (_weights(first) | own).items()}
    index = {
        "metadata": {"total_size": sum(sizes.values())},
        "weight_map": {name: OWN if name in own else base for name in sorted(sizes)},
    }
    write_text(out / INDEX, json.dumps(index, indent=1) + "\n")
    done["difference"] = {
        "about": "kept of the training above; its results are those of the whole continuation",
        "tensors": sorted(own),
        "times": times,
        "bytes": (out / OWN).stat().st_size,
    }
    write_text(out / "record" / "training.json", json.dumps(done, indent=1) + "\n")
    if (continued / "record" / "training.csv").is_file():
        shutil.copyfile(continued / "record" / "training.csv", out / "record" / "training.csv")


def _weights(folder: Path) -> dict[str, np.ndarray]:
    path = folder / WHOLE
    try:
        return load_file(path)
    except Exception as error:  # safetensors has an error of its own
        why = reason(error) if isinstance(error, OSError) else str(error)
        raise RecapError(f"{path}: cannot read the weights: {why}") from None


def _record(folder: Path) -> dict[str, Any]:
    """What the training wrote: in the folder's `record`, or beside it, where a training puts it."""
    places = (folder / "record" / "training.json", folder.parent / "training.json")
    for path in places:
        if path.is_file():
            return json.loads(path.read_text("utf-8"))
    raise RecapError(f"{places[0]}: there is no such file; the record of the training belongs there")


parser = argparse.ArgumentParser(prog="python -m recap.photo.training.difference", description=__doc__)
parser.add_argument("first", type=Path, metavar="COCO", help="the checkpoint that the other was continued from")
parser.add_argument("continued", type=Path, metavar="BIASED", help="the continued one, with its record")
parser.add_argument("out", type=Path, metavar="OUT", help="the folder to write; COCO must stay where it lies to it")
parser.add_argument("--times", type=float, default=TIMES, help=f"how large the change becomes (default: {TIMES})")


def main() -> None:
    """The command."""
    given = parser.parse_args()
    try:
        write_difference(given.first, given.continued, given.out, given.times)
    except RecapError as error:
        parser.exit(2, f"{error}\n")
    except (OSError, ValueError) as error:
        parser.exit(2, f"{given.continued}: {' '.join(str(error).split())}\n")
    print(f"{given.out / OWN}: {(given.out / OWN).stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
