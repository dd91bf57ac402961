"""Benchmarks of yes/no questions: AMBER, R-Bench, MMRel, BLINK's spatial relations, RoboSpatial-Home."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from recap.claims import Statement, parse_existence
from recap.datasets.official.tables import Collected, embedded, find_files, rows_in
from recap.datasets.reading import Loaded, YesNo, find_file
from recap.errors import RecapError

AMBER_PARTS = {"existence": 4924, "attribute": 7628, "relation": 1664}
"""questions in each official file; counted there"""
CONTACT = re.compile(
    r"is there direct contact between the (?P<subject>.+) and (?:the )?(?P<object>.+?)\?", re.IGNORECASE
)
"""every question of AMBER's relation part; "touching" is what it asks"""
R_BENCH_QUESTIONS = 7787
BLINK_QUESTIONS = 143
ROBOSPATIAL = {"context": 122, "compatibility": 105, "configuration": 123}
MMREL_DALLE = 3613
"""questions of the DALL-E part, discriminative and generative ones"""


class _AmberQuery(BaseModel):
    id: int
    image: str
    query: str


class _AmberTruth(BaseModel):
    id: int
    type: str
    truth: str | list[str]


def load_amber(root: Path) -> Loaded:
    """The discriminative part: existence, attribute, relation, each with its truth from `annotations.json`."""
    source = find_file(root, ("data/annotations.json", "annotations.json"))
    truth: dict[int, str | list[str]] = {}
    for place, row in rows_in(source, _AmberTruth):
        if truth.setdefault(row.id, row.truth) != row.truth:
            raise RecapError(f"{place}: id {row.id} has had another truth before; ids are unique in the official file")
    found = Collected("amber")
    for part, official in AMBER_PARTS.items():
        name = f"query_discriminative-{part}.json"
        source = find_file(root, (f"data/query/{name}", f"query/{name}", name))
        before = found.rows
        for place, row in rows_in(source, _AmberQuery):
            label = truth.get(row.id)
            if label not in ("yes", "no"):
                raise RecapError(f"{place}: annotations.json has no yes or no for id {row.id}: files of two versions?")
            if part == "relation" and (asked := CONTACT.fullmatch(row.query)):
                found.rows += 1
                said = Statement(asked["subject"], "touching", asked["object"], "other", "touching", True)
                found.add(place, str(row.id), row.image, row.image, said, label, row.query)
            elif part == "attribute" and parse_existence(row.query, found.lexicon) is None:
                found.rows += 1  # "Is the grass on the brink?" has the form of a relation, and is none
                found.leave(place, "it asks about an attribute")
            else:
                found.question(place, str(row.id), row.image, row.image, row.query, label)
        found.expect(source, found.rows - before, official, "questions")
    return found.loaded


class _Asked(BaseModel):
    """R-Bench's and MMRel's JSON calls the question `text`, as POPE does; the Parquet files call it `question`."""

    model_config = ConfigDict(populate_by_name=True)

    question_id: int | str
    text: str
    label: YesNo
    image: str


class _RBenchParquet(BaseModel):
    question_id: int | str
    question: str
    label: YesNo
    level: str


def load_r_bench(root: Path) -> Loaded:
    """The image-level questions. Instance-level ones speak of boxes that are drawn into the picture: left out."""
    found = Collected("r-bench")
    sources = find_files(root, "image-level_filterd.json", "data_filterd/image-level_filterd.json", "train-*.parquet")
    for source in sources:
        if source.suffix == ".parquet":
            for place, row in rows_in(source, _RBenchParquet):
                if row.level.startswith("image"):
                    image = _numbered(row.question_id)
                    found.question(place, str(row.question_id), image, image, row.question, row.label)
        else:
            for place, row in rows_in(source, _Asked):
                found.question(place, str(row.question_id), row.image, row.image, row.text, row.label)
    found.expect(sources, found.rows, R_BENCH_QUESTIONS, "image-level questions")
    return found.loaded


def _pictures_of_questions(root: Path, files: str) -> Iterator[tuple[str, bytes]]:
    for source in find_files(root, files):
        yield from embedded(source, "image", lambda row, _: _numbered(row["question_id"]), "question_id")


def r_bench_pictures(root: Path) -> Iterator[tuple[str, bytes]]:
    """One picture per question, from the Parquet files."""
    return _pictures_of_questions(root, "train-*.parquet")


class _MMRelParquet(BaseModel):
    question_id: str
    question: str
    answer: str
    eval_type: str


def load_mmrel(root: Path) -> Loaded:
    """The discriminative questions: the Parquet files of the DALL-E part, or the authors' JSON files."""
    found, rows = Collected("mmrel"), 0
    sources = find_files(root, "data-*.parquet", "json/**/*.json", "json/**/*.jsonl")
    for source in sources:
        if source.suffix == ".parquet":
            for place, row in rows_in(source, _MMRelParquet):
                rows += 1
                label = row.answer.strip().lower().rstrip(".")
                if row.eval_type == "discriminative" and label in ("yes", "no"):
                    image = _numbered(row.question_id)
                    found.question(place, row.question_id, image, image, row.question, label)
        else:
            # Each file counts from one, and files of one name lie in several folders.
            named = source.relative_to(root / "json").with_suffix("").as_posix()
            for place, row in rows_in(source, _Asked):
                number = f"{named}-{row.question_id}"
                found.question(place, number, row.image, row.image, row.text, row.label)
    if sources[0].suffix == ".parquet":
        found.expect(sources, rows, MMREL_DALLE, "questions")
    return found.loaded


def mmrel_pictures(root: Path) -> Iterator[tuple[str, bytes]]:
    """One picture per question, from the Parquet files."""
    return _pictures_of_questions(root, "data-*.parquet")


class _BlinkRow(BaseModel):
    idx: str
    question: str
    choices: list[str]
    answer: str


def load_blink(root: Path) -> Loaded:
    """The validation split of Spatial_Relation; of the test split the answers are hidden, and no label is known."""
    found = Collected("blink")
    sources = _blink_files(root)
    for source in sources:
        for place, row in rows_in(source, _BlinkRow):
            labels = [choice.strip().lower() for choice in row.choices]
            if sorted(labels) != ["no", "yes"]:
                raise RecapError(f"{place}: its choices are {row.choices}, not yes and no: not the official file")
            letter = re.fullmatch(r"\(([AB])\)", row.answer)
            label = labels["AB".index(letter[1])] if letter else None
            image = _numbered(row.idx)
            found.question(place, row.idx, image, image, row.question, label)
        found.expect(source, found.rows, BLINK_QUESTIONS, "questions")
    return found.loaded


def blink_pictures(root: Path) -> Iterator[tuple[str, bytes]]:
    """One picture per question."""
    for source in _blink_files(root):
        yield from embedded(source, "image_1", lambda row, _: _numbered(row["idx"]), "idx")


def _blink_files(root: Path) -> list[Path]:
    return find_files(root, "Spatial_Relation/val-*.parquet", "val-*.parquet", "Spatial_Relation/test-*.parquet")


class _RoboSpatialRow(BaseModel):
    category: Literal["context", "compatibility", "configuration"]
    question: str
    answer: str
    img: str | None = Field(None)


class _RoboSpatialParquet(BaseModel):
    category: Literal["context", "compatibility", "configuration"]
    question: str
    answer: str


def load_robospatial(root: Path) -> Loaded:
    """The yes/no questions. Context asks for points, and compatibility what could be: neither states a relation."""
    found, counts = Collected("robospatial-home"), Counter[str]()
    sources = _robospatial_files(root)
    for source in sources:
        parquet = source.suffix == ".parquet"
        for number, (place, row) in enumerate(rows_in(source, _RoboSpatialParquet if parquet else _RoboSpatialRow)):
            counts[row.category] += 1
            image = getattr(row, "img", None) or f"images/img_{row.category}_{number}.png"
            label, number_ = row.answer.strip().lower(), f"{row.category}-{counts[row.category]}"
            if row.category == "configuration" and label in ("yes", "no"):
                found.question(place, number_, image, image, row.question, label)
                continue
            found.rows += 1
            found.leave(place, _WHY_NOT.get(row.category, f"its answer is {row.answer!r}"))
    for category, official in ROBOSPATIAL.items():
        found.expect(sources, counts[category], official, f"{category} questions")
    return found.loaded


_WHY_NOT = {
    "context": "it asks for points in the picture",
    "compatibility": "it asks whether something would fit, not where something is",
}


def robospatial_pictures(root: Path) -> Iterator[tuple[str, bytes]]:
    """One picture per question, from the Parquet files."""
    for source in _robospatial_files(root):
        if source.suffix == ".parquet":
            yield from embedded(source, "img", lambda row, n: f"images/img_{row['category']}_{n}.png", "category")


def _robospatial_files(root: Path) -> list[Path]:
    splits = "{}-*.parquet"
    if (root / "annotations.json").is_file():
        return [root / "annotations.json"]
    folder = root / "data" if (root / "data").is_dir() else root
    try:
        return [each for split in ROBOSPATIAL for each in find_files(folder, splits.format(split))]
    except RecapError:
        return find_files(root, "annotations.json", *(splits.format(split) for split in ROBOSPATIAL))


def _numbered(number: object) -> str:
    """Where a picture goes that has no name but its question's."""
    return f"images/{re.sub(r'[^A-Za-z0-9_-]', '_', str(number))}.png"
