"""The paper's benchmarks, read from their official files.

VSR, random split: one caption per row with its relation field, true or false of a COCO image.
What'sUp, controlled A and B: one photograph and four captions that differ in the relation; the first is true.
GSR-Bench, COCO- and GQA-Spatial-Two: an image with a true caption and a false one.

Images that two benchmarks share: a transfer is a transfer only if the target's pictures were not calibrated on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, Field, TypeAdapter

from recap.claims import default_lexicon, parse
from recap.datasets.reading import Loaded, find_file, validated_lines, validated_list
from recap.errors import RecapError, quoted
from recap.files import locating, reading, write_text
from recap.probing import Item

VSR_FOLDERS = ("random/", "", "splits/random/", "data/splits/random/")
WHATSUP_PARTS = {"a": "controlled_images_dataset.json", "b": "controlled_clevr_dataset.json"}
GSR_PARTS = {"coco": "coco_qa_two_obj.json", "gqa": "vg_qa_two_obj.json"}
WITHOUT_IMAGES = "statements_without_images.jsonl"
SHARED = "shared_images.txt"
BARE = {"vsr": "coco/"}
"""benchmarks that name their images without saying whose they are"""
FRAME = "A photo of "
"""how GSR-Bench's official captions begin"""
MACHINE_MADE = {
    "to the front of": "in front of",
    "to the behind of": "behind",
    "to the top of": "above",
    "to the bottom of": "below",
}
"""GQA's captions put every relation into one pattern; none of these belongs into a lexicon of what people say"""


class _VsrRow(BaseModel):
    image: str
    caption: str
    label: Literal[0, 1]
    relation: str


class _WhatsupGroup(BaseModel):
    image_path: str
    caption_options: Annotated[list[str], Field(min_length=2)]


class _GsrStatement(BaseModel):
    source: str
    group: str
    subject: str
    object: str
    phrase: str
    label: Literal[0, 1]
    image_id: int | str | None = None


_WHATSUP_GROUPS = TypeAdapter(list[_WhatsupGroup])
GSR_TRIPLES = TypeAdapter(list[tuple[int | str, str, str]])
"""[image id, true caption, false caption]"""


def load_vsr(root: Path, split: str = "test") -> Loaded:
    """A random split; of the test split 2,195 statements. The relation field decides, never the caption, which
    over-matches."""
    source = find_file(root, [f"{folder}{split}.jsonl" for folder in VSR_FOLDERS])
    prefix = "vsr" if split == "test" else f"vsr-{split}"
    lexicon = default_lexicon()
    items: list[Item] = []
    for place, row in validated_lines(source, _VsrRow):
        if lexicon.relation_of(row.relation) is None:
            raise RecapError(f'{source}:{place}: relation "{row.relation}" is not one that VSR uses')
        with locating(source, place):
            statement = parse(row.caption, lexicon, phrase=row.relation)
        items.append(Item(f"{prefix}-{place}", "vsr", row.image, row.image, statement, _label(row.label)))
    return Loaded(tuple(items))


def load_whatsup(root: Path) -> Loaded:
    """Both parts, A then B: 820 groups of four statements. The group is the unit."""
    items: list[Item] = []
    for part, name in WHATSUP_PARTS.items():
        source = find_file(root, (name, f"data/{name}"))
        for number, group in enumerate(validated_list(source, _WHATSUP_GROUPS)):
            with locating(source, number):
                image = group.image_path
                items += _options("whatsup", f"wu-{part}-{number}", image, image, group.caption_options)
    return Loaded(tuple(items))


def load_gsr(root: Path) -> Loaded:
    """Both parts in order. Every [image, true caption, false caption] is a group of two statements.

    Images that `shared_images.txt` names are shown by another benchmark too, and left out. A folder that holds only
    `statements_without_images.jsonl` (the same statements, image ids unknown) is read too.
    """
    if (root / WITHOUT_IMAGES).exists() and not any((root / name).exists() for name in GSR_PARTS.values()):
        return Loaded(without_listed(_gsr_statements(root / WITHOUT_IMAGES), root))
    items: list[Item] = []
    for part, name in GSR_PARTS.items():
        source = find_file(root, (name, f"data/{name}"))
        for number, (image_id, *captions) in enumerate(validated_list(source, GSR_TRIPLES)):
            group = f"gsr-{part}-{number}"
            with locating(source, number):
                items += _options("gsr", group, group, image_name(part, image_id), list(map(plain_caption, captions)))
    return Loaded(without_listed(items, root))


def _gsr_statements(source: Path) -> list[Item]:
    items: list[Item] = []
    for place, row in validated_lines(source, _GsrStatement):
        part = "coco" if row.source.startswith("coco") else "gqa"
        with locating(source, place):
            statement = parse(f"The {row.subject} is {row.phrase} the {row.object}.", phrase=row.phrase)
            image = None if row.image_id is None else image_name(part, row.image_id)
        items.append(Item(f"gsr-{place}", "gsr", row.group, image, statement, _label(row.label)))
    return items


def _options(dataset: str, group: str, unit: str, image: str, captions: Sequence[str]) -> Iterator[Item]:
    """The captions offered for one image; the first is the true one."""
    for option, caption in enumerate(captions):
        yield Item(f"{group}-{option}", dataset, unit, image, parse(caption), _label(option == 0))


def _label(true: bool | int) -> str:
    return "yes" if true else "no"


def plain_caption(caption: str) -> str:
    """An official GSR caption as a plain statement: "A photo of a cart to the front of a tree" → in front of."""
    said = caption.removeprefix(FRAME)
    for phrase, usual in MACHINE_MADE.items():
        said = said.replace(f" {phrase} ", f" {usual} ")
    return said


def image_name(part: str, image_id: int | str) -> str:
    """A source-qualified image name. COCO ids are zero-padded to 12 digits, as VSR writes them."""
    if part != "coco":
        return f"gqa/{image_id}.jpg"
    if not str(image_id).isdecimal():
        raise RecapError(f"{quoted(str(image_id))} is not a COCO image id")
    return f"coco/{int(image_id):012d}.jpg"


def without_shared(items: Sequence[Item], others: Iterable[Item]) -> tuple[tuple[Item, ...], tuple[str, ...]]:
    """The statements about images that the others do not show, and the names of the images they do."""
    seen = {_identity(item.dataset, item.image) for item in others if item.image is not None}
    named = {item.image: _identity(item.dataset, item.image) for item in items if item.image is not None}
    removed = {image: identity for image, identity in named.items() if identity in seen}
    return tuple(item for item in items if item.image not in removed), tuple(removed)


def without_listed(items: Sequence[Item], root: Path) -> tuple[Item, ...]:
    """The statements about images that the folder's `shared_images.txt`, if there is one, does not name."""
    source = root / SHARED
    if not source.is_file():
        return tuple(items)
    with reading(source, "list of shared images"):
        lines = source.read_text("utf-8-sig").splitlines()
    listed = {_identity("", line.strip()) for line in lines if line.strip() and not line.startswith("#")}
    return tuple(item for item in items if item.image is None or _identity(item.dataset, item.image) not in listed)


def write_shared(root: Path, images: Sequence[str], others: Sequence[str]) -> None:
    """List the images that other benchmarks show too."""
    header = f"# Images that {' or '.join(others)} shows too; their statements are left out when this folder is read.\n"
    write_text(root / SHARED, header + "".join(f"{image}\n" for image in images))


def _identity(dataset: str, image: str) -> str:
    """Whose image it is and which, however it is written: COCO's numbers come with and without leading zeros."""
    whole = BARE.get(dataset, "") + image
    coco = re.fullmatch(r"coco/0*(\d+)\.jpe?g", whole)
    return f"coco/{coco[1]}" if coco else whole
