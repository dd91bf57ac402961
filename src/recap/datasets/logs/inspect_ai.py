"""Samples of Inspect: a `.eval` archive or a `.json` log (read with inspect_ai 0.3.285).

A sample has its `input` (text, or messages with text and pictures), `target`, `metadata`, and the model's `output`
with, if they were asked for, log-probabilities of its tokens. Pictures are named, or stand in `attachments`.
"""

from __future__ import annotations

import importlib
import json
import lzma
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, cast

from recap.datasets.logs.sample import (
    LONGEST_SAMPLE,
    NOT_FINITE,
    LogFields,
    LogSample,
    UnreadSampleError,
    answer_in,
    choice_word,
    fields_of,
    margin_of,
    numbered,
    read_sample,
    truth,
)
from recap.errors import RecapError
from recap.files import reading

ZSTANDARD = 93
"""how current versions compress; Python reads it by itself from 3.14 on"""
UNREADABLE = (
    ValueError, RecursionError, RuntimeError, EOFError, OSError,
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error,
)  # fmt: skip
"""what reading an entry of an archive may raise: damaged, encrypted, or compressed as nobody here can read"""
ATTACHMENT = "attachment://"
ONE_SIDED = "only one of yes and no is among the logged log-probabilities, so there is an answer and no margin"


def inspect_samples(source: Path, _fields: LogFields) -> Iterator[LogSample | UnreadSampleError]:
    """The samples of a log; of several epochs, the first."""
    with reading(source, "log"), source.open("rb") as stream:
        archive = stream.read(4) == b"PK\x03\x04"
    header, samples = _archive(source) if archive else _document(source)
    spec = fields_of(header.get("eval"))
    task, model = str(spec.get("task") or source.stem).rpartition("/")[2], spec.get("model")
    for place, sample in enumerate(samples, start=1):
        if _epoch(sample) > 1:
            continue
        yield read_sample(place, partial(_sample, sample, place, task, model))


def _epoch(sample: Any) -> int:
    found = fields_of(sample).get("epoch")
    return found if isinstance(found, int) else 1


def _document(source: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    with reading(source, "log"):
        text = source.read_bytes()
    try:
        log: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RecapError(f"{source}: not valid JSON: {error}") from None
    if not isinstance(log, dict) or "eval" not in log:
        raise RecapError(f"{source}: this is no log of Inspect (a .eval archive, or JSON with eval and samples)")
    found = cast(dict[str, Any], log)
    samples: Any = found.get("samples") or []
    if not isinstance(samples, list):
        raise RecapError(f"{source}: samples is not a list")
    return found, cast(list[dict[str, Any]], samples)


def _archive(source: Path) -> tuple[dict[str, Any], Iterator[dict[str, Any]]]:
    try:
        with zipfile.ZipFile(source) as archive:
            names = {each.filename: each for each in archive.infolist()}
    except (zipfile.BadZipFile, OSError) as error:
        raise RecapError(f"{source}: cannot read the log: {error}") from None
    head = next((names[name] for name in ("header.json", "_journal/start.json") if name in names), None)
    if head is None:
        raise RecapError(f"{source}: this is no log of Inspect (it holds no header.json)")
    samples = sorted((name for name in names if re.fullmatch(r"samples/.+\.json", name)), key=_order)
    return _entry(source, head), (_entry(source, names[name]) for name in samples)


def _order(name: str) -> tuple[Any, ...]:
    """Numbers by their size: sample 10 comes after sample 9."""
    parts = ((part.lstrip("0"), part) for part in re.split(r"(\d+)", name))
    return tuple((0, len(bare), bare) if part.isdecimal() else (1, 0, part) for bare, part in parts)


def _entry(source: Path, info: zipfile.ZipInfo) -> dict[str, Any]:
    if max(info.file_size, info.compress_size) > LONGEST_SAMPLE:
        raise RecapError(f"{source}: {info.filename} has more than {LONGEST_SAMPLE >> 20} MiB")
    try:
        value: Any = json.loads(_content(source, info))
    except RecapError:
        raise
    except UNREADABLE as error:
        raise RecapError(f"{source}: cannot read {info.filename}: {error}") from None
    if not isinstance(value, dict):
        raise RecapError(f"{source}: {info.filename} is not a JSON object")
    return cast(dict[str, Any], value)


def _content(source: Path, info: zipfile.ZipInfo) -> bytes:
    if info.compress_type != ZSTANDARD:
        with zipfile.ZipFile(source) as archive:
            return archive.read(info)
    try:
        zstandard: Any = importlib.import_module("zstandard")
    except ImportError:
        raise RecapError(
            f"{source}: it is compressed with zstandard, which is not installed: pip install 'recap-vlm[logs]' "
            "(or: inspect log convert --to json)"
        ) from None
    with source.open("rb") as stream:
        stream.seek(info.header_offset)
        name, extra = struct.unpack("<26xHH", stream.read(30))
        stream.seek(name + extra, 1)
        packed = stream.read(info.compress_size)
    unpacker = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
    try:
        return unpacker.read(info.file_size)
    except zstandard.ZstdError as error:
        raise RecapError(f"{source}: cannot read {info.filename}: {error}") from None


def _sample(sample: Mapping[str, Any], place: int, task: str, model: Any) -> LogSample:
    if sample.get("error"):
        raise RecapError("the sample ended in an error")
    attached = fields_of(sample.get("attachments"))
    text, pictures = _input(sample.get("input"), attached)
    if len(pictures) > 1:
        raise RecapError(f"it shows {len(pictures)} pictures, and an audit is about one")
    lost = bool(pictures) and pictures[0].startswith(ATTACHMENT)  # the log names it by its content, and lacks it
    choices = [str(each) for each in cast(list[Any], sample.get("choices") or [])]
    output = cast(dict[str, Any], sample.get("output") or {})
    completions = cast(list[dict[str, Any]], output.get("choices") or [])
    message = cast(dict[str, Any], completions[0].get("message") or {}) if completions else {}
    said = _resolved(_input([message | {"role": "user"}], attached)[0] or str(output.get("completion") or ""), attached)
    answer = answer_in(said) or _chosen(said, choices) or _scored(sample, choices)
    margin, note = _logged_margin(completions[0]) if completions and not choices else (None, None)
    return LogSample(
        place=place,
        id=numbered(task, sample.get("id"), place),
        task=task,
        harness="inspect",
        document=fields_of(sample.get("metadata")),
        prompt=text,
        target=truth(sample.get("target"), choices),
        margin=margin,
        answer=answer,
        image=pictures[0] if pictures and not lost else None,
        unit=pictures[0] if lost else None,
        model=None if model is None else str(model),
        notes=() if note is None else (note,),
    )


def _input(content: Any, attached: Mapping[str, str]) -> tuple[str, list[str]]:
    """The words and pictures of a sample's input; of messages, those of users."""
    if isinstance(content, str):
        return _resolved(content, attached), []
    texts: list[str] = []
    pictures: list[str] = []
    for message in cast(list[dict[str, Any]], content or []):
        if message.get("role") != "user":
            continue
        body: Any = message.get("content")
        parts = [{"type": "text", "text": body}] if isinstance(body, str) else cast(list[dict[str, Any]], body or [])
        texts += [_resolved(str(part.get("text", "")), attached) for part in parts if part.get("type") == "text"]
        pictures += [_resolved(str(part["image"]), attached) for part in parts if part.get("type") == "image"]
    return "\n".join(texts), pictures


def _resolved(text: str, attached: Mapping[str, str]) -> str:
    name = text.removeprefix(ATTACHMENT)
    return attached.get(name, text) if name != text else text


def _chosen(said: str, choices: list[str]) -> str | None:
    """The answer of a multiple choice, by its letter."""
    found = re.search(r"ANSWER\s*:\s*\(?([A-Za-z])\b", said, re.IGNORECASE)
    return truth(found[1], choices) if found and choices else None


def _scored(sample: Mapping[str, Any], choices: list[str]) -> str | None:
    """The answer that a scorer read out of the model's words."""
    for score in cast(dict[str, dict[str, Any]], sample.get("scores") or {}).values():
        if (found := truth(score.get("answer"), choices)) is not None:
            return found
    return None


def _logged_margin(completion: Mapping[str, Any]) -> tuple[float | None, str | None]:
    """The margin at the first token that is a yes or no; where the log does not give it, why."""
    logged = cast(dict[str, Any], completion.get("logprobs") or {})
    for token in cast(list[dict[str, Any]], logged.get("content") or []):
        if _word(token) is None:
            continue
        listed = cast(list[dict[str, Any]], token.get("top_logprobs") or [])
        if not any(each["token"] == token["token"] for each in listed):
            listed = [token, *listed]
        words, scores = [_word(each) for each in listed], [_logprob(each) for each in listed]
        margin = margin_of(words, scores)
        if margin is not None:
            return margin, None
        return None, NOT_FINITE if {"yes", "no"} <= {*words} else ONE_SIDED
    return None, None


def _logprob(token: Mapping[str, Any]) -> float:
    return math.nan if token["logprob"] is None else float(token["logprob"])


def _word(token: Mapping[str, Any]) -> str | None:
    """yes or no; other words for truth are no tokens of ours."""
    text = str(token.get("token", ""))
    return choice_word(text) if text.strip().lower().strip(".") in ("yes", "no") else None
