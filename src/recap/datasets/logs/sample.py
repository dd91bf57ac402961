"""One sample of a log, whatever tool wrote it, and the row of a margin table that it becomes."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from recap.claims import Graph, NoRelationError, Statement, as_said, parse, parse_existence
from recap.claims.answers import said, spoken, truth_word, yes_or_no
from recap.datasets.logs.pictures import keep_picture, picture_digest
from recap.errors import RecapError, quoted
from recap.models.contract import log_sum
from recap.table import Row, row_from_fields

LONGEST_SAMPLE = 64 << 20
"""bytes of one sample: logs hold prompts, documents and pictures"""
QUESTIONS = ("question", "statement", "caption", "text", "sentence", "query", "prompt")
IMAGES = ("image", "image_path", "image_file", "file_name", "image_link", "image_url", "img", "image_id", "images")
UNITS = ("unit", "group", "group_id")
NO_UNIT = "no picture or group is named, so each row is a unit of its own"
NO_PICTURE = "its picture is not named in the log"
NOT_FINITE = "the log-likelihood of yes or of no is no finite number, so there is an answer and no margin"
INSIDE = "its picture is inside the log, and --pictures DIR would write it"
"""notes of rows"""


class UnreadSampleError(RecapError):
    """Why a sample cannot be a row, and where it stands."""

    def __init__(self, place: int, why: str) -> None:
        super().__init__(why)
        self.place = place


@dataclass(frozen=True)
class LogFields:
    """Where things stand in a log, as far as somebody said: names of fields, dotted where they are nested."""

    question: str | None = None
    image: str | None = None
    label: str | None = None
    unit: str | None = None
    choices: tuple[str, ...] | None = None
    pictures: Path | None = None
    """folder for pictures that the log holds"""


@dataclass(frozen=True)
class LogSample:
    """What a log says about one answer."""

    place: int
    id: str
    task: str
    harness: str
    document: Mapping[str, Any]
    """the dataset's own fields, as far as they were logged"""
    prompt: str = ""
    target: Any = None
    margin: float | None = None
    """log p(yes) − log p(no), if both were logged"""
    answer: str | None = None
    image: str | None = None
    """a name, an address, or a data: URL"""
    model: str | None = None
    unit: str | None = None
    """what stands in for a picture that has no name: rows of one belong together"""
    notes: tuple[str, ...] = ()

    def row(self, graph: Graph, fields: LogFields) -> tuple[Row, tuple[str, ...]]:
        """The row of a margin table, and what is to be said of it; an error says what it lacks."""
        text, statement = self._statement(graph, fields)
        label = truth(_field(self.document, fields.label, "label") if fields.label else self.target)
        if self.margin is None and self.answer is None:
            logged = NOT_FINITE if NOT_FINITE in self.notes else "no log-likelihoods of them are logged"
            raise RecapError(f"its answer is neither yes nor no, and {logged.partition(',')[0]}")
        image, picture = self._picture(fields)
        unit = _named(_field(self.document, fields.unit, "unit") if fields.unit else _first(self.document, UNITS))
        notes = [] if image else [INSIDE if picture else NO_PICTURE]
        unit = unit or image or picture or self.unit
        if unit is None:
            unit = self.id
            notes.append(NO_UNIT)
        row: dict[str, Any] = {
            "id": self.id,
            "dataset": self.task or None,
            "image": image,
            "unit": unit,
            "subject": statement.subject,
            "relation": statement.relation,
            "object": statement.object,
            "label": label,
            "answer": self.answer if self.margin is None else None,
            "direct": {} if self.margin is None else {"image": self.margin},
            "question": text,
            "harness": self.harness,
            "harness_model": self.model,
        }
        if statement.relation not in graph:
            row["claim"] = None
        stated = {name: value for name, value in row.items() if value is not None or name == "claim"}
        return row_from_fields(stated, graph), (*self.notes, *notes)

    def _statement(self, graph: Graph, fields: LogFields) -> tuple[str, Statement]:
        """What is asked, in the log's own words, and what that says; the first text with one relation counts."""
        if fields.question is not None:
            texts = [str(_field(self.document, fields.question, "question"))]
        else:
            texts = [text for name in QUESTIONS if isinstance(text := self.document.get(name), str)]
            texts += list(sentences(self.prompt))
        why: NoRelationError | None = None
        for text in dict.fromkeys(" ".join(text.split()) for text in texts if text.strip()):
            try:
                return text, parse_existence(text, graph.lexicon) or as_said(parse(text, graph.lexicon), text)
            except NoRelationError as error:
                why = why or error
        raise why or RecapError("no question is logged: --question FIELD names the field that holds it")

    def _picture(self, fields: LogFields) -> tuple[str | None, str | None]:
        """The picture's name, and if it has none but is there, what tells it from others."""
        found: Any = self.image
        if fields.image is not None:
            found = _field(self.document, fields.image, "image")
        elif found is None:
            found = _first(self.document, IMAGES)
        several = cast(list[Any], found) if isinstance(found, list) else [found]
        if len(several) > 1:
            raise RecapError(f"it shows {len(several)} pictures, and an audit is about one")
        name = picture_name(several[0] if several else None)
        if name is None or name.startswith("<"):  # a picture in memory, of which only its kind was logged
            return None, None
        if name[:5].lower() == "data:":
            return (keep_picture(name, fields.pictures), None) if fields.pictures else (None, picture_digest(name))
        return name, None


def picture_name(found: Any) -> str | None:
    """What a log calls a picture: its name, or an object that has it."""
    for key in ("path", "image_url", "url", "image"):
        if isinstance(found, Mapping) and cast(Mapping[str, Any], found).get(key) is not None:
            found = cast(Mapping[str, Any], found)[key]
    return _named(found)


def words_of(prompt: Any) -> str:
    """The words of a prompt: a text, or a chat (also one that is written as JSON), of which the user's words count."""
    if isinstance(prompt, str) and prompt.lstrip().startswith("[{"):
        try:
            prompt = json.loads(prompt)
        except (ValueError, RecursionError):
            return prompt
    match prompt:
        case list():
            return "\n".join(filter(None, map(words_of, cast(list[Any], prompt))))
        case dict():
            part = cast(dict[str, Any], prompt)
            if part.get("role", "user") != "user":
                return ""
            return words_of(part.get("text") if "text" in part else part.get("content"))
        case _:
            return "" if prompt is None else str(prompt)


def numbered(task: str, number: Any, place: int) -> str:
    """The id of a sample; by its place in the log where that has no number for it."""
    return f"{task}-{place if number is None else number}"


def fields_of(value: Any) -> dict[str, Any]:
    """A logged object; what is none has no fields."""
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def read_sample(place: int, make: Callable[[], LogSample]) -> LogSample | UnreadSampleError:
    """A sample, or why it is none: logs of other versions may have other shapes, and one must not end the import."""
    try:
        return make()
    except RecapError as error:
        return UnreadSampleError(place, str(error))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError) as error:
        return UnreadSampleError(place, f"it has not the shape of a sample ({type(error).__name__}: {error})")


def sentences(prompt: str) -> Iterator[str]:
    """Texts of a prompt in which the question may be, likely ones first: its questions, the last one leading (what
    stands before it may be examples), then the whole, then its other sentences."""
    plain = re.sub(r"<[^<>\n]{1,40}>", " ", prompt)
    lines = (
        re.sub(r"^\s*(?:question|q|statement|caption)\s*:", "", line, flags=re.IGNORECASE)
        for line in plain.splitlines()
    )
    parts = [part.strip() for line in lines for part in re.findall(r"[^.?!]+[.?!]?", line)][::-1]
    yield from (part for part in parts if part.endswith("?"))
    yield plain
    yield from (part for part in parts if part and not part.endswith("?"))


def truth(value: Any, choices: Sequence[str] = ()) -> str | None:
    """A target as yes or no: the word itself, or the place or letter of a choice; None where it is unknown."""
    if isinstance(value, list) and value:
        value = cast(list[Any], value)[0]
    # lm-eval writes lists of targets as text: "['yes']".
    word = str(value).strip().strip("[]'\".! ").lower() if isinstance(value, str | int | bool) else ""
    words = [choice_word(choice) for choice in choices]
    if word.isdecimal() and int(word) < len(words):
        return words[int(word)]
    if len(word) == 1 and "a" <= word <= "z" and ord(word) - ord("a") < len(words):
        return words[ord(word) - ord("a")]
    return truth_word(word)


def choice_word(choice: str) -> str | None:
    """What a continuation says: `" Yes"`, `"false."`; None where neither. A number is the name of a choice."""
    return None if choice.strip(" \t\n.!\"'").isdecimal() else truth_word(choice)


def answer_in(text: str) -> str | None:
    """The yes or no in an answer's words, beside its thinking; true and false count."""
    shown = said(text)
    if shown is None or not shown.strip():
        return None
    told = spoken(shown.strip())
    return yes_or_no(told) or choice_word(told.split()[0] if told.split() else "")


def margin_of(choices: Iterable[str | None], scores: Iterable[float]) -> float | None:
    """log p(yes) − log p(no); spellings of one word are added up. None where one of the two is missing."""
    sides: dict[str, list[float]] = {"yes": [], "no": []}
    for word, score in zip(choices, scores, strict=True):
        if word in sides and not math.isnan(score):
            sides[word].append(score)
    if not all(any(math.isfinite(score) for score in side) for side in sides.values()):
        return None
    yes, no = (log_sum(side) for side in sides.values())
    return yes - no


def answer_without_margin(words: Sequence[str | None], scores: Sequence[float]) -> tuple[str, tuple[str, ...]]:
    """The answer where a log-likelihood of yes or no is not finite, and a note on it; an error if there is none."""
    best = {word: _best(score for w, score in zip(words, scores, strict=True) if w == word) for word in ("yes", "no")}
    told = " and ".join(f"that of {word} is {score}" for word, score in best.items() if not math.isfinite(score))
    if max(best.values()) == math.inf or best["yes"] == best["no"] or any(map(math.isnan, best.values())):
        raise RecapError(f"its log-likelihoods give no answer: {told}")
    return max(best, key=lambda word: best[word]), (NOT_FINITE,)


def _best(scores: Iterable[float]) -> float:
    return max((score for score in scores if not math.isnan(score)), default=math.nan)


def number(value: Any) -> float:
    """A logged number, which may be written as text."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise RecapError(f"{quoted(str(value))} is logged where a log-likelihood should be") from None


def _field(document: Mapping[str, Any], path: str, what: str) -> Any:
    value: Any = document
    for name in path.split("."):
        if not isinstance(value, Mapping) or name not in value:
            raise RecapError(f"its document has no field {quoted(path)} ({what})")
        value = cast(Mapping[str, Any], value)[name]
    return value


def _first(document: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((document[name] for name in names if document.get(name) is not None), None)


def _named(value: Any) -> str | None:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip() else None
