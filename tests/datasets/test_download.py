from __future__ import annotations

from pathlib import Path

import pytest

from recap.datasets.fetch import download, fetch_dataset, load_sources
from recap.datasets.fetch.sources import File
from recap.errors import RecapError
from tests.datasets.official import SPLIT, fetch_vsr, picture, serve_vsr
from tests.datasets.site import Site


def test_a_part_is_continued_and_only_the_rest_is_sent(site: Site, tmp_path: Path) -> None:
    serve_vsr(site, 1)
    whole = site.files["vsr/images/000000000001.jpg"]
    part = tmp_path / "images" / "000000000001.jpg.part"
    part.parent.mkdir()
    part.write_bytes(whole[:1000])
    fetch_vsr(site, tmp_path)
    assert site.asked("vsr/images/000000000001.jpg") == [("bytes=1000-", len(whole) - 1000)]
    assert part.with_suffix("").read_bytes() == whole
    assert not part.exists()


def test_a_server_without_ranges_sends_everything_again(site: Site, tmp_path: Path) -> None:
    serve_vsr(site, 1)
    site.ranges = False
    whole = site.files["vsr/images/000000000001.jpg"]
    part = tmp_path / "images" / "000000000001.jpg.part"
    part.parent.mkdir()
    part.write_bytes(b"something else")
    fetch_vsr(site, tmp_path)
    assert site.asked("vsr/images/000000000001.jpg") == [("bytes=14-", len(whole))]
    assert part.with_suffix("").read_bytes() == whole


@pytest.mark.parametrize(("more", "answers"), [(b"", 1), (b"too much", 2)])
def test_a_part_that_is_whole_or_too_long(site: Site, tmp_path: Path, more: bytes, answers: int) -> None:
    serve_vsr(site, 1)
    whole = site.files[SPLIT]
    part = tmp_path / "random" / "test.jsonl.part"
    part.parent.mkdir()
    part.write_bytes(whole + more)
    fetch_vsr(site, tmp_path, images=False)
    assert part.with_suffix("").read_bytes() == whole
    assert len(site.asked(SPLIT)) == answers


def test_a_dropped_connection_is_taken_up_where_it_broke(site: Site, tmp_path: Path) -> None:
    serve_vsr(site, 1)
    name, whole = "vsr/images/000000000001.jpg", site.files["vsr/images/000000000001.jpg"]
    site.drops[name] = 2
    fetch_vsr(site, tmp_path)
    half, quarter = len(whole) // 2, (len(whole) - len(whole) // 2) // 2
    assert site.asked(name) == [
        (None, half),
        (f"bytes={half}-", quarter),
        (f"bytes={half + quarter}-", len(whole) - half - quarter),
    ]
    assert (tmp_path / "images" / "000000000001.jpg").read_bytes() == whole


def test_a_busy_server_is_asked_again_but_not_for_ever(site: Site, tmp_path: Path) -> None:
    serve_vsr(site, 1)
    site.busy[SPLIT] = 2
    fetch_vsr(site, tmp_path / "a", images=False)
    assert len(site.asked(SPLIT)) == 3
    site.seen.clear()
    site.busy[SPLIT] = 100
    with pytest.raises(RecapError, match=r"the server answers 500 \(tried 4 times\)"):
        fetch_vsr(site, tmp_path / "b", images=False)
    assert len(site.asked(SPLIT)) == 4
    assert not (tmp_path / "b").exists()


def test_an_interrupted_download_keeps_its_part(site: Site, tmp_path: Path) -> None:
    serve_vsr(site)
    site.drops[SPLIT] = 100
    with pytest.raises(RecapError, match=r"what came is kept in .*random/test.jsonl.part"):
        fetch_vsr(site, tmp_path)
    kept = tmp_path / "random" / "test.jsonl.part"
    assert len(kept.read_bytes()) > len(site.files[SPLIT]) // 2
    assert site.files[SPLIT].startswith(kept.read_bytes())
    site.drops.clear()
    assert fetch_vsr(site, tmp_path).pictures == 3


def test_the_second_place_is_tried_where_the_first_has_nothing(site: Site, tmp_path: Path) -> None:
    site.files["val/1.jpg"] = picture("1")
    with download.open_client() as client:
        download.download(client, [f"{site.url}/train/1.jpg", f"{site.url}/val/1.jpg"], tmp_path / "1.part")
    assert (tmp_path / "1.part").read_bytes() == picture("1")


def test_a_web_page_in_place_of_a_file_is_told_with_the_link(site: Site, tmp_path: Path) -> None:
    site.files["drive"] = b"<html>Google Drive - Quota exceeded</html>"
    site.pages.add("drive")
    source = load_sources()["whatsup"]
    files = tuple(File(path=file.path, urls=(f"{site.url}/drive",)) for file in source.files)
    sources = load_sources() | {"whatsup": source.model_copy(update={"files": files})}
    with pytest.raises(
        RecapError, match=r"sent a web page .* by hand from https://drive.google.com/\S+ and save it as"
    ):
        fetch_dataset("whatsup", tmp_path, sources=sources)
    assert not list(tmp_path.iterdir())
