from __future__ import annotations

from pathlib import Path

from recap.datasets import Item, load_dataset, without_shared
from recap.datasets.fetch import fetch_dataset, load_sources
from tests.datasets.official import SPLIT, picture, serve_gsr
from tests.datasets.site import Site


def test_gsr_leaves_out_what_the_others_show(site: Site, tmp_path: Path) -> None:
    serve_gsr(site, tmp_path)
    root = tmp_path / "gsr"
    got = fetch_dataset("gsr", root, mirror=site.url)
    assert got.shared == ("coco/000000000002.jpg", "coco/000000004000.jpg")
    assert (len(got.items), got.pictures, got.failed) == (6, 3, ())
    assert (root / "shared_images.txt").read_text().splitlines()[1:] == list(got.shared)
    items = load_dataset("gsr", root).items
    assert items == got.items
    assert [item.statement.relation for item in items] == [
        "left_of", "right_of", "above", "below", "in_front_of", "behind",
    ]  # fmt: skip
    assert {str(item.image) for item in items} == {"coco/000000000001.jpg", "coco/000000000030.jpg", "gqa/2.jpg"}
    assert all((root / str(item.image)).is_file() for item in items)
    assert (root / "gqa" / "2.jpg").read_bytes() == picture("gqa")
    assert not (root / "coco" / "000000000002.jpg").exists()
    again = fetch_dataset("gsr", root, mirror=site.url)
    assert (again.items, again.shared) == (got.items, got.shared)


def test_gsr_fetches_the_annotations_it_needs_of_the_others(site: Site, tmp_path: Path, data: Path) -> None:
    serve_gsr(site, tmp_path / "elsewhere")
    for file in load_sources()["whatsup"].files:
        site.files[f"whatsup/{file.path}"] = (data / "whatsup" / file.path).read_bytes()
    site.files[SPLIT] = (data / "vsr" / "random" / "test.jsonl").read_bytes()
    got = fetch_dataset("gsr", tmp_path / "gsr", mirror=site.url, images=False)
    assert (len(got.items), got.shared) == (12, ())
    assert len(load_dataset("vsr", tmp_path / "vsr").items) == 2195
    assert len(load_dataset("whatsup", tmp_path / "whatsup").items) == 3280
    assert not [path for path, _, _ in site.seen if "images/" in path or path.endswith(".tar.gz")]


def test_shared_images_are_found_in_the_real_vsr(data: Path) -> None:
    vsr = load_dataset("vsr", data / "vsr").items
    whatsup = load_dataset("whatsup", data / "whatsup").items
    statement = vsr[0].statement

    def item(number: int, image: str) -> Item:
        return Item(f"g{number}", "gsr", f"u{number // 2}", image, statement, "yes")

    shown = [f"coco/{item.image}" for item in vsr[:9]]
    images = [*(image for image in shown for _ in range(2)), "coco/000000000000.jpg", "gqa/451431.jpg"]
    items = [item(number, image) for number, image in enumerate(images)]
    kept, removed = without_shared(items, [*vsr, *whatsup])
    assert [str(item.image) for item in kept] == images[-2:]
    assert removed == tuple(dict.fromkeys(shown))
    assert without_shared(items, whatsup) == (tuple(items), ())
