"""Benchmarks of choices: every option that states a relation becomes a statement of the question's group.

What'sUp's COCO and GQA subsets, EmbSpatial-Bench, CV-Bench, 3DSRBench.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from pydantic import BaseModel

from recap.claims import NoRelationError, parse
from recap.datasets.benchmarks import GSR_TRIPLES, image_name, plain_caption
from recap.datasets.official.tables import Collected, embedded, find_files, rows_in
from recap.datasets.reading import Loaded, find_file, validated_list
from recap.errors import RecapError

WHATSUP_GROUPS = {
    "coco_qa_one_obj.json": 2247, "coco_qa_two_obj.json": 440, "vg_qa_one_obj.json": 1160, "vg_qa_two_obj.json": 291,
}  # fmt: skip
"""groups of a true and a false caption, as the What'sUp paper counts them"""
EMBSPATIAL_QUESTIONS = 3640
CV_BENCH = {"2D": 1438, "3D": 1200}
THREEDSR_CATEGORIES = (
    "height_higher", "location_above", "location_closer_to_camera", "location_next_to", "orientation_in_front_of",
    "orientation_on_the_left", "orientation_viewpoint", "multi_object_closer_to", "multi_object_facing",
    "multi_object_viewpoint_towards_object", "multi_object_parallel", "multi_object_same_direction",
)  # fmt: skip
LOCATED = re.compile(
    r".*where is the (?P<subject>.+?) (?:located )?with respect to the (?P<object>.+?)\?", re.IGNORECASE
)
"""CV-Bench's questions about a relation; their options are left, right, above and below"""
OPTION_PHRASES = {"left": "to the left of", "right": "to the right of", "above": "above", "below": "below"}
IN_THREE_D = re.compile(
    r"consider the real-world 3d locations?(?: and orientations?)? of the objects?\.\s*", re.IGNORECASE
)
NEXT_TO = re.compile(
    r"are the (?P<subject>.+?) and (?:the )?(?P<object>.+?) next to each other or far (?:away )?from each other\?",
    re.IGNORECASE,
)


def load_whatsup_coco(root: Path) -> Loaded:
    """One-object and two-object groups on COCO photographs."""
    return _whatsup(root, "whatsup-coco", "coco", ("coco_qa_one_obj.json", "coco_qa_two_obj.json"))


def load_whatsup_gqa(root: Path) -> Loaded:
    """One-object and two-object groups on GQA's photographs."""
    return _whatsup(root, "whatsup-gqa", "gqa", ("vg_qa_one_obj.json", "vg_qa_two_obj.json"))


def _whatsup(root: Path, name: str, part: str, files: Sequence[str]) -> Loaded:
    found = Collected(name)
    for file in files:
        source = find_file(root, (file, f"data/{file}"))
        groups = validated_list(source, GSR_TRIPLES)
        kind = "one" if "one" in file else "two"
        for number, (image_id, *captions) in enumerate(groups):
            group = f"{kind}-{number}"
            said = [(plain_caption(each), option == 0) for option, each in enumerate(captions)]
            _options(found, f"{source}:{number}", group, image_name(part, image_id), said)
        found.expect(source, len(groups), WHATSUP_GROUPS[file], "groups")
    return found.loaded


def _options(found: Collected, place: str, group: str, image: str, said: Sequence[tuple[str, bool]]) -> None:
    """The options of one group that state a relation; where none does, the row is left with the first one's reason."""
    found.rows += 1
    why, unit = "", f"{found.name}-{group}"
    for option, (text, true) in enumerate(said):
        try:
            statement = parse(text, found.lexicon)
        except NoRelationError as error:
            why = why or str(error)
            continue
        found.add(place, f"{group}-{option}", unit, image, statement, "yes" if true else "no")
    if not found.items or found.items[-1].unit != unit:
        found.leave(place, why or "it has no options")


class _EmbSpatialRow(BaseModel):
    question_id: str
    relation: str
    answer_options: list[str]
    answer: int


def load_embspatial(root: Path) -> Loaded:
    """Options that are sentences ("The drawer is above the soapbottle."); close and far name one thing of many."""
    source = find_file(root, ("embspatial_bench.json",))
    found = Collected("embspatial")
    for place, row in rows_in(source, _EmbSpatialRow):
        if not 0 <= row.answer < len(row.answer_options):
            raise RecapError(f"{place}: answer is {row.answer}, but it has {len(row.answer_options)} options")
        if row.relation in ("close", "far"):
            found.rows += 1
            found.leave(place, "it asks which of several things is the closest or farthest")
            continue
        said = [(text, number == row.answer) for number, text in enumerate(row.answer_options)]
        _options(found, place, row.question_id, _picture(row.question_id), said)
    found.expect(source, found.rows, EMBSPATIAL_QUESTIONS, "questions")
    return found.loaded


def embspatial_pictures(root: Path) -> Iterator[tuple[str, bytes]]:
    """One picture per question, as base64."""
    source = find_file(root, ("embspatial_bench.json",))
    yield from embedded(source, "image", lambda row, _: _picture(str(row["question_id"])), "question_id")


class _CVBenchRow(BaseModel):
    idx: int
    type: str
    task: str
    question: str
    choices: list[str]
    answer: str
    filename: str


def load_cv_bench(root: Path) -> Loaded:
    """The relation task. Counting asks no relation; depth and distance speak of boxes drawn into the picture."""
    found = Collected("cv-bench")
    for dimension, official in CV_BENCH.items():
        stem = f"test_{dimension.lower()}"
        [source] = find_files(root, f"{stem}.parquet", f"{stem}.jsonl")[:1]
        before = found.rows
        for place, row in rows_in(source, _CVBenchRow):
            asked = LOCATED.fullmatch(row.question)
            if row.task != "Relation" or asked is None:
                found.rows += 1
                found.leave(place, f"its task is {row.task.lower()}, which states no relation between two named things")
                continue
            true = _letter(place, row.answer, len(row.choices))
            said = [
                (f"The {asked['subject']} is {OPTION_PHRASES.get(choice, choice)} the {asked['object']}.", n == true)
                for n, choice in enumerate(row.choices)
            ]
            _options(found, place, str(row.idx), _cv_picture(row.filename), said)
        found.expect(source, found.rows - before, official, "questions")
    return found.loaded


def cv_bench_pictures(root: Path) -> Iterator[tuple[str, bytes]]:
    """One picture per question, from the Parquet files."""
    for dimension in CV_BENCH:
        for source in find_files(root, f"test_{dimension.lower()}.parquet"):
            yield from embedded(source, "image", lambda row, _: _cv_picture(str(row["filename"])), "filename")


def _cv_picture(filename: str) -> str:
    return filename if filename.startswith("img/") else f"img/{filename}"


class _ThreeDSRRow(BaseModel):
    index: str
    question: str
    A: str | None = None
    B: str | None = None
    answer: str
    category: str
    image_url: str | None = None
    qid: str | None = None


def load_3dsrbench(root: Path) -> Loaded:
    """Location questions about two things: directly above, and next to or far. The others compare or take a view."""
    found = Collected("3dsrbench")
    for source in _threedsr_files(root):
        for place, row in rows_in(source, _ThreeDSRRow):
            if row.category not in THREEDSR_CATEGORIES:
                raise RecapError(f'{place}: "{row.category}" is not a category of 3DSRBench v1: another version?')
            asked = IN_THREE_D.sub("", row.question)
            true, number = _letter(place, row.answer, 4), row.qid or row.index
            image = _threedsr_picture(source, row)
            options = [(each or "").strip().lower() for each in (row.A, row.B)]
            near = NEXT_TO.fullmatch(asked)
            if sorted(options) == ["no", "yes"] and row.category == "location_above":
                label = options[true] if true < 2 else None
                found.question(place, number, number, image, row.question, label, said=asked)
            elif near is not None and row.category == "location_next_to":
                pair = "The {subject} is {{}} the {object}.".format(**near.groupdict())
                ways = {"next": "next to", "far": "far away from"}
                said = [
                    (pair.format(phrase), number == true)
                    for number, option in enumerate(options)
                    for word, phrase in ways.items()
                    if word in option
                ]
                _options(found, place, number, image, said)
            else:
                found.rows += 1
                found.leave(place, f"{row.category} states no relation between two things, seen from the camera")
    return found.loaded


def threedsr_pictures(root: Path) -> Iterator[tuple[str, bytes]]:
    """One picture per question, from the TSV; the CSV's lie in `coco_images.zip`."""
    for source in _threedsr_files(root):
        if source.suffix == ".tsv":
            yield from embedded(
                source, "image", lambda row, _: _picture(str(row.get("qid") or row["index"])), "index", optional=["qid"]
            )


def _threedsr_files(root: Path) -> list[Path]:
    return find_files(root, "3dsrbench_v1.csv", "3dsrbench_v1-*.parquet", "3dsrbench_v1_vlmevalkit.tsv")


def _threedsr_picture(source: Path, row: _ThreeDSRRow) -> str:
    if source.suffix == ".tsv" or row.image_url is None:
        return _picture(row.qid or row.index)
    return f"images/{PurePosixPath(row.image_url).name}"


def _letter(place: str, answer: str, options: int) -> int:
    """Which option a letter names, with or without brackets."""
    letter = re.fullmatch(r"\(?([A-H])\)?", answer.strip())
    number = "ABCDEFGH".index(letter[1]) if letter else options
    if number >= options:
        raise RecapError(f"{place}: the answer {answer!r} names none of {options} options")
    return number


def _picture(number: str) -> str:
    return f"images/{re.sub(r'[^A-Za-z0-9_-]', '_', number)}.jpg"
