# transformers types its own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""A checkpoint's files: where they lie, which content they have, and a model from them with every weight in place."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import torch
import transformers
from huggingface_hub import constants
from huggingface_hub.utils import are_progress_bars_disabled as are_bars_disabled
from huggingface_hub.utils import disable_progress_bars, enable_progress_bars, get_session
from transformers.utils import logging
from transformers.utils.hub import cached_file

from recap.errors import RecapError

SETTINGS = (
    "added_tokens.json", "chat_template.jinja", "chat_template.json", "config.json", "merges.txt",
    "preprocessor_config.json", "processor_config.json", "special_tokens_map.json", "tokenizer.json",
    "tokenizer.model", "tokenizer_config.json", "vocab.json",
)  # fmt: skip
"""everything beside the weights that can change a margin; model cards, generation settings and video parts cannot"""
SAMPLE = 4096
"""bytes read at three places of every tensor: a digest of gigabytes in a second, and no fine-tuning leaves them all"""
NAMED = 5
"""weights that a refusal names"""
CONNECTING = 5.0
"""seconds that the hub may take to answer at all"""


def display_name(name: str) -> str:
    """What people call a checkpoint: a hub name as it is, a folder by its own name, wherever it lies."""
    folder = Path(name).expanduser()
    return folder.resolve().name if folder.is_dir() else name


def checkpoint_folder(name: str, revision: str | None = None) -> Path | None:
    """Where the files of a checkpoint lie on this machine: the folder itself, or the cache of a hub name."""
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder.resolve()
    where: dict[str, Any] = {"revision": revision} if revision else {}
    try:
        found: Any = cached_file(name, "config.json", local_files_only=True, **where)
    except OSError:
        return None
    return None if found is None else Path(found).parent


def find_checkpoint(name: str, called: str, revision: str | None = None) -> str:
    """Where to load a checkpoint from: its folder; for a hub name the hub, or the cache while that cannot be reached.

    Without a connection the hub's client would try again for minutes, file by file. One short request tells before.
    """
    folder = Path(name).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            raise RecapError(f"{called}: this folder is no checkpoint: there is no config.json in it")
        return str(folder)
    why = _hub_problem()
    if not why:
        return name
    cached = checkpoint_folder(name, revision)
    if cached is None:
        there = f"{constants.ENDPOINT} cannot be reached ({why})"
        raise RecapError(f"{called}: there is no such folder, nothing of that name in the hub's cache, and {there}")
    return str(cached)


def _hub_problem() -> str:
    """Why the hub cannot be asked; nothing where it can."""
    if constants.HF_HUB_OFFLINE:
        return "HF_HUB_OFFLINE is set"
    try:
        get_session().head(constants.ENDPOINT, timeout=CONNECTING)
    except Exception as error:  # of whichever HTTP library the hub's client uses
        return " ".join(str(error).split())[:80] or type(error).__name__
    return ""


@contextlib.contextmanager
def quiet_loading() -> Generator[None]:
    """Without what transformers prints while it loads: its bars and remarks. Downloads keep their own bars."""
    verbosity, bars, downloads_hidden = logging.get_verbosity(), logging.is_progress_bar_enabled(), are_bars_disabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()  # which disables those of downloads too
    if not downloads_hidden:
        enable_progress_bars()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
        if downloads_hidden:
            disable_progress_bars()


def content_digest(folder: Path) -> str:
    """A revision by content: the same weights give the same digest under any path, name or sharding."""
    digest = hashlib.sha256()
    for name in SETTINGS:
        if (folder / name).is_file():
            digest.update(f"{name}:{hashlib.sha256((folder / name).read_bytes()).hexdigest()}\n".encode())
    placed = _weight_map(folder)
    for line in sorted(
        line
        for path in weight_files(folder)
        for name, line in _weights(path)
        if name not in placed or folder / placed[name] == path  # of a tensor in two files the index says which counts
    ):
        digest.update(line.encode())
    return digest.hexdigest()


def weight_files(folder: Path) -> list[Path]:
    """The files that transformers reads the weights from."""
    whole = folder / "model.safetensors"
    if whole.is_file():
        return [whole]
    if placed := _weight_map(folder):
        return [folder / name for name in sorted(set(placed.values()))]
    return sorted(folder.glob("*.safetensors")) or sorted(folder.glob("pytorch_model*.bin"))


def _weight_map(folder: Path) -> dict[str, str]:
    """Which file has which tensor, where the weights are in several."""
    whole, index = folder / "model.safetensors", folder / "model.safetensors.index.json"
    return {} if whole.is_file() or not index.is_file() else json.loads(index.read_text("utf-8"))["weight_map"]


def _weights(path: Path) -> Iterator[tuple[str, str]]:
    """Every tensor's name, and a line with its name, type and shape, and a digest of samples of its bytes."""
    with path.open("rb") as stream:
        if path.suffix != ".safetensors":
            size = path.stat().st_size
            yield path.name, f"{path.name}:{size}:{_sampled(stream, 0, size, 64)}\n"
            return
        length = int.from_bytes(stream.read(8), "little")
        for name, tensor in json.loads(stream.read(length)).items():
            if name != "__metadata__":
                start, end = tensor["data_offsets"]
                sample = _sampled(stream, 8 + length + start, 8 + length + end, 3)
                yield name, f"{name}:{tensor['dtype']}:{tensor['shape']}:{sample}\n"


def _sampled(stream: Any, start: int, end: int, places: int) -> str:
    digest = hashlib.sha256()
    for place in range(places):
        stream.seek(start + max(0, end - start - SAMPLE) * place // max(1, places - 1))
        digest.update(stream.read(min(SAMPLE, end - start)))
    return digest.hexdigest()


def load_weights(name: str, called: str, dtype: str | None, attention: str, revision: str | None = None) -> Any:
    """A model with every weight from its checkpoint, in the precision that its config names unless one is given.

    transformers fills what a checkpoint lacks with random numbers; such a model is refused here, with the names.
    Code that a checkpoint brings along is never run.
    """
    where: dict[str, Any] = {"revision": revision} if revision else {}
    loaded: Any = transformers.AutoModelForImageTextToText.from_pretrained(
        name,
        dtype=dtype or "auto",
        attn_implementation=attention,
        output_loading_info=True,
        ignore_mismatched_sizes=True,
        trust_remote_code=False,
        **where,
    )
    model, info = loaded
    mismatched = [f"{key} {tuple(there)} for {tuple(wanted)}" for key, there, wanted in info["mismatched_keys"]]
    for what, keys in (
        ("lacks", info["missing_keys"]),
        ("has weights of another shape:", mismatched),
        ("has weights that the model has no place for:", info["unexpected_keys"]),
    ):
        if keys:
            shown = ", ".join(sorted(keys)[:NAMED]) + (f" and {len(keys) - NAMED} more" if len(keys) > NAMED else "")
            raise RecapError(f"{called}: the checkpoint {what} {shown}; its margins would mean nothing")
    kinds = {parameter.dtype for parameter in model.parameters()}
    return model if len(kinds) == 1 else model.to(model.config.dtype or torch.float32)
