"""Samples of lmms-eval: `DATE_samples_TASK.jsonl`, written by --log_samples (read with 0.7.3).

A line has the prompt as `input`, the `target`, `filtered_resps` (flattened where there is one request) and, if the
document named them, pictures in `input_media`. The document itself and the continuations of log-likelihoods are not
logged: which of two log-likelihoods is the yes must be said (`--choices`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, cast

from recap.datasets.logs.lm_eval import generated_text, is_likelihood, logged_lines
from recap.datasets.logs.sample import (
    LogFields,
    LogSample,
    UnreadSampleError,
    answer_in,
    answer_without_margin,
    margin_of,
    number,
    numbered,
    picture_name,
    read_sample,
    truth,
    words_of,
)
from recap.errors import RecapError

_NAME = re.compile(r"[\d_T.:-]+_samples_(?P<task>.+)$")


def lmms_eval_samples(source: Path, fields: LogFields) -> Iterator[LogSample | UnreadSampleError]:
    """The samples of a log."""
    named = _NAME.fullmatch(source.stem)
    task = named["task"] if named else source.stem
    for place, line in logged_lines(source):
        if "input" not in line or "filtered_resps" not in line:
            raise RecapError(f"{source}:{place}: this is no sample of lmms-eval (it lacks input or filtered_resps)")
        yield read_sample(place, partial(_sample, line, place, task, fields))


def _sample(line: Mapping[str, Any], place: int, task: str, fields: LogFields) -> LogSample:
    responses: Any = line["filtered_resps"]
    likelihoods = _likelihoods(responses)
    margin = answer = None
    notes: tuple[str, ...] = ()
    if likelihoods:
        if fields.choices is None or len(likelihoods) != 2:
            raise RecapError(
                f"{len(likelihoods)} log-likelihoods, and the log does not say of which words; of two, "
                "--choices yes,no (or no,yes) does"
            )
        margin = margin_of(fields.choices, likelihoods)
        if margin is None:
            answer, notes = answer_without_margin(fields.choices, likelihoods)
    else:
        answer = answer_in(generated_text(responses))
    given: Any = line.get("input_media") or []
    listed = cast(list[Any], given) if isinstance(given, list) else [given]
    media = [name for each in listed if (name := picture_name(each)) is not None]
    if len(media) > 1:
        raise RecapError(f"it shows {len(media)} pictures, and an audit is about one")
    known = {name: value for name, value in line.items() if name not in ("input", "resps", "filtered_resps", "target")}
    return LogSample(
        place=place,
        id=numbered(task, line.get("doc_id"), place),
        task=task,
        harness="lmms-eval",
        document=known,
        prompt=words_of(line["input"]),
        target=truth(line.get("target"), fields.choices or ()),
        margin=margin,
        answer=answer,
        image=media[0] if media else None,
        notes=notes,
    )


def _likelihoods(responses: Any) -> list[float]:
    """The log-likelihoods of several requests; none where text was generated."""
    listed = cast(list[Any], responses) if isinstance(responses, list) else []
    return [number(pair[0]) for pair in listed] if all(map(is_likelihood, listed)) else []
