"""Samples of lm-evaluation-harness: `samples_TASK_DATE.jsonl`, written by --log_samples (read with 0.4.13).

A line has the dataset's `doc`, the `target` (of multiple choice, the place of the right choice), for every request its
`arguments` (context, continuation, …) and its `resps`: log-likelihoods as `["-0.31", "False"]`, or generated text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, cast

from recap.datasets.logs.sample import (
    LONGEST_SAMPLE,
    LogFields,
    LogSample,
    UnreadSampleError,
    answer_in,
    answer_without_margin,
    choice_word,
    fields_of,
    margin_of,
    number,
    numbered,
    read_sample,
    truth,
    words_of,
)
from recap.errors import RecapError
from recap.files import read_lines

_NAME = re.compile(r"samples_(?P<task>.+?)_\d{4}-\d\d-\d\dT[\d.:-]+$")


def lm_eval_samples(source: Path, fields: LogFields) -> Iterator[LogSample | UnreadSampleError]:
    """The samples of a log; of several filters of one document, the first."""
    named = _NAME.fullmatch(source.stem)
    task = named["task"] if named else source.stem
    seen: set[str] = set()
    for place, line in logged_lines(source):
        document = line.get("doc_id")
        if "doc" not in line or "filtered_resps" not in line:
            raise RecapError(f"{source}:{place}: this is no sample of lm-eval (it lacks doc or filtered_resps)")
        if document is not None and str(document) in seen:
            continue
        seen.add(str(document))
        yield read_sample(place, partial(_sample, line, place, task, fields))


def logged_lines(source: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each line of a log as the JSON object that it is."""
    found = False
    for place, line in read_lines(source, "log", LONGEST_SAMPLE):
        found = True
        try:
            value: Any = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise RecapError(f"{source}:{place}: not valid JSON: {error}") from None
        if not isinstance(value, dict):
            raise RecapError(f"{source}:{place}: the sample is not a JSON object")
        yield place, cast(dict[str, Any], value)
    if not found:
        raise RecapError(f"{source}: the log is empty")


def _sample(line: Mapping[str, Any], place: int, task: str, fields: LogFields) -> LogSample:
    requests = _requests(line.get("arguments") or {})
    texts = [str(each.get("arg_1", "")) for each in requests]
    responses = cast(list[Any], line["filtered_resps"])
    if len(requests) == len(responses):
        # Some metrics also score the choices without their question: only what follows the question counts.
        asked = [i for i, each in enumerate(requests) if each.get("arg_0") == requests[0].get("arg_0")]
        texts, responses = [texts[i] for i in asked], [responses[i] for i in asked]
    margin = answer = None
    notes: tuple[str, ...] = ()
    choices: list[str] = []
    if responses and all(is_likelihood(each) for each in responses):
        choices = list(fields.choices or texts)
        if len(choices) != len(responses):
            raise RecapError(f"{len(responses)} log-likelihoods, and {len(choices)} continuations")
        words, scores = [choice_word(each) for each in choices], [number(each[0]) for each in responses]
        if not {"yes", "no"} <= {*words}:
            raise RecapError(f"its choices are not yes and no: {', '.join(map(repr, choices[:4]))}")
        margin = margin_of(words, scores)
        if margin is None:
            answer, notes = answer_without_margin(words, scores)
    elif responses:
        answer = answer_in(generated_text(responses[0]))
    return LogSample(
        place=place,
        id=numbered(task, line.get("doc_id"), place),
        task=task,
        harness="lm-eval",
        document=fields_of(line["doc"]),
        prompt=words_of(requests[0].get("arg_0")) if requests else "",
        target=truth(line.get("target"), choices),
        margin=margin,
        answer=answer,
        notes=notes,
    )


def _requests(arguments: Any) -> list[dict[str, Any]]:
    """The arguments of each request by their names; up to 0.4.2 they were lists."""
    if isinstance(arguments, list):
        listed = cast(list[list[Any]], arguments)
        return [{f"arg_{place}": value for place, value in enumerate(each)} for each in listed]
    return [cast(dict[str, Any], each) for each in cast(dict[str, Any], arguments).values()]


def is_likelihood(response: Any) -> bool:
    """A pair of a log-likelihood and whether the continuation is the greedy one."""
    pair = cast(list[Any], response) if isinstance(response, list) else []
    return len(pair) == 2 and str(pair[1]) in ("True", "False")


def generated_text(response: Any) -> str:
    """The first of the generated texts, however deep they are nested."""
    listed = cast(list[Any], response) if isinstance(response, list) else None
    return generated_text(listed[0]) if listed else f"{response}"
