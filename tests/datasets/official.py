"""Small benchmarks of the official layouts, put on a site, and what fetching them from there takes."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any

from recap.datasets.fetch import Fetched, OfficialSource, fetch_dataset, load_sources
from tests.datasets.site import Site

SPLIT = "vsr/random/test.jsonl"
CLEVR = "whatsup/controlled_clevr.tar.gz"


def picture(name: str, size: int = 3000) -> bytes:
    return b"\xff\xd8\xff" + hashlib.sha256(name.encode()).digest() * (size // 32)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def archive(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as tar:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def vsr_row(image: str, caption: str = "The cat is on the bed.", relation: str = "on") -> str:
    return json.dumps({"image": image, "caption": caption, "label": 1, "relation": relation}) + "\n"


def serve_vsr(site: Site, images: int = 3) -> dict[str, bytes]:
    """A benchmark of VSR's layout. Its split is not the official one, so its digest is not known beforehand."""
    shown = {f"{number:012d}.jpg": picture(f"{number}") for number in range(1, images + 1)}
    site.files[SPLIT] = "".join(map(vsr_row, shown)).encode()
    site.files.update({f"vsr/images/{name}": content for name, content in shown.items()})
    return shown


def unpinned(name: str, sha: str | None = None) -> dict[str, OfficialSource]:
    """The sources, with another digest (or none) for the official annotations of one."""
    source = load_sources()[name]
    files = tuple(file.model_copy(update={"sha256": sha}) for file in source.files)
    return load_sources() | {name: source.model_copy(update={"files": files})}


def fetch_vsr(site: Site, root: Path, sha: str | None = None, **more: Any) -> Fetched:
    return fetch_dataset("vsr", root, mirror=site.url, sources=unpinned("vsr", sha), **more)


def serve_whatsup(site: Site, groups: int = 5) -> dict[str, bytes]:
    """Both parts in What'sUp's layout, each with an archive that holds more than is needed."""
    shown: dict[str, bytes] = {}
    for part, file in (
        ("controlled_images", "controlled_images_dataset"),
        ("controlled_clevr", "controlled_clevr_dataset"),
    ):
        names = [f"mug_on_table{number}.jpeg" for number in range(groups)]
        listed = [
            {"image_path": f"data/{part}/{name}", "caption_options": ["A mug on a table", "A mug under a table"]}
            for name in names
        ]
        site.files[f"whatsup/{file}.json"] = json.dumps(listed).encode()
        shown |= {f"data/{part}/{name}": picture(part + name) for name in names}
        junk = {f"./{part}/._junk.jpeg": b"junk", f"./{part}/unwanted.jpeg": b"unwanted"}
        members = {f"./{part}/{name}": picture(part + name) for name in names}
        site.files[f"whatsup/{part}.tar.gz"] = archive(members | junk)
    return shown


def fetch_whatsup(site: Site, root: Path, **more: Any) -> Fetched:
    return fetch_dataset("whatsup", root, mirror=site.url, sources=unpinned("whatsup"), **more)


def serve_gsr(site: Site, root: Path) -> None:
    """Four COCO images of which two are VSR's, one GQA image whose number is one of VSR's too."""
    coco = [
        [number, f"A photo of a cat {phrase} a dog", f"A photo of a cat {other} a dog"]
        for number, phrase, other in [
            (1, "to the left of", "to the right of"),
            (2, "above", "below"),
            (2, "to the left of", "to the right of"),
            (30, "above", "below"),
            (4000, "below", "above"),
        ]
    ]
    gqa = [["2", "A photo of a cart to the front of a green trees", "A photo of a cart to the behind of a green trees"]]
    site.files["gsr/coco_qa_two_obj.json"] = json.dumps(coco).encode()
    site.files["gsr/vg_qa_two_obj.json"] = json.dumps(gqa).encode()
    for number in (1, 2, 30, 4000):
        site.files[f"gsr/coco/{number:012d}.jpg"] = picture(str(number))
    site.files["gsr/vg_images.tar.gz"] = archive({"vg_images/2.jpg": picture("gqa"), "vg_images/9.jpg": b"unwanted"})
    (root / "vsr" / "random").mkdir(parents=True)
    (root / "vsr" / "random" / "test.jsonl").write_text(vsr_row("000000000002.jpg") + vsr_row("000000004000.jpg"))
    group = [
        {"image_path": "data/controlled_images/1.jpeg", "caption_options": ["A mug on a table", "A mug under a table"]}
    ]
    (root / "whatsup").mkdir()
    for name in ("controlled_images_dataset.json", "controlled_clevr_dataset.json"):
        (root / "whatsup" / name).write_text(json.dumps(group))
