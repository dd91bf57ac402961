from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from recap.datasets import DATASETS, load_dataset
from recap.datasets.fetch import fetch_dataset, load_sources, source_of
from recap.datasets.fetch.folder import read_checksums
from recap.datasets.official import BENCHMARKS
from recap.datasets.probing import locate
from recap.errors import RecapError
from tests.conftest import Ran
from tests.datasets.official import SPLIT, fetch_vsr, picture, serve_gsr, serve_vsr, sha256
from tests.datasets.site import Site

Recap = Callable[..., Ran]


def test_a_fetch_fills_the_layout_that_is_read(site: Site, tmp_path: Path) -> None:
    shown = serve_vsr(site)
    told: list[tuple[str, int, int]] = []
    got = fetch_vsr(site, tmp_path, progress=lambda *step: told.append(step))
    assert (len(got.items), got.pictures, got.failed) == (3, 3, ())
    for item in load_dataset("vsr", tmp_path).items:
        assert Path(locate(tmp_path, item.image or "")).read_bytes() == shown[item.image or ""]
    assert told[-1] == ("pictures", 3, 3)
    assert read_checksums(tmp_path) == {
        path.removeprefix("vsr/"): sha256(content) for path, content in site.files.items()
    }
    assert not list(tmp_path.rglob("*.part"))


def test_what_is_there_is_not_downloaded_again(site: Site, tmp_path: Path) -> None:
    serve_vsr(site)
    fetch_vsr(site, tmp_path)
    site.seen.clear()
    assert fetch_vsr(site, tmp_path).pictures == 3
    assert site.seen == []


def test_a_spoilt_file_is_fetched_again(site: Site, tmp_path: Path) -> None:
    shown = serve_vsr(site)
    fetch_vsr(site, tmp_path)
    spoilt = tmp_path / "images" / "000000000002.jpg"
    spoilt.write_bytes(b"spoilt")
    said: list[str] = []
    fetch_vsr(site, tmp_path, say=said.append)
    assert spoilt.read_bytes() == shown[spoilt.name]
    assert said[-1] == f"{spoilt}: its checksum is wrong; fetching it again"


def test_only_annotations_or_a_few_pictures(site: Site, tmp_path: Path) -> None:
    serve_vsr(site)
    assert fetch_vsr(site, tmp_path, images=False).pictures == 0
    assert not (tmp_path / "images").exists()
    assert fetch_vsr(site, tmp_path, limit=2).pictures == 2
    assert len(list((tmp_path / "images").iterdir())) == 2


def test_a_wrong_official_checksum_is_refused(site: Site, tmp_path: Path) -> None:
    serve_vsr(site)
    with pytest.raises(RecapError, match=rf"wrong checksum, removed: .*the official file has {'0' * 64}"):
        fetch_vsr(site, tmp_path, sha="0" * 64)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_digest_holds_from_the_first_download_on(site: Site, tmp_path: Path) -> None:
    shown = serve_vsr(site)
    fetch_vsr(site, tmp_path)
    (tmp_path / "images" / "000000000002.jpg").unlink()
    site.files["vsr/images/000000000002.jpg"] = picture("corrupted")
    got = fetch_vsr(site, tmp_path)
    assert got.pictures == 2
    assert len(got.failed) == 1
    assert "wrong checksum, removed" in got.failed[0]
    assert "from the first download" in got.failed[0]
    assert len(list((tmp_path / "images").iterdir())) == 2
    assert read_checksums(tmp_path)["images/000000000002.jpg"] == sha256(shown["000000000002.jpg"])


def test_a_picture_that_is_not_there_does_not_stop_the_others(site: Site, tmp_path: Path) -> None:
    serve_vsr(site, 30)
    del site.files["vsr/images/000000000007.jpg"]
    got = fetch_vsr(site, tmp_path)
    assert got.pictures == 29
    assert got.failed == (f"{site.url}/vsr/images/000000000007.jpg: not there, or not given out",)


def test_a_place_out_of_reach_is_given_up_early(site: Site, tmp_path: Path) -> None:
    serve_vsr(site, 60)
    site.files = {SPLIT: site.files[SPLIT]}
    with pytest.raises(RecapError, match="none of 16 pictures could be fetched, the rest was not tried"):
        fetch_vsr(site, tmp_path)
    assert len(site.seen) < 40


@pytest.mark.parametrize(
    "image", ["../../evil", "/etc/passwd", "gqa/../../evil.jpg", "elsewhere/x.jpg", "gqa/a\\b.jpg", ""]
)
def test_a_name_that_leads_elsewhere_is_no_picture(image: str) -> None:
    with pytest.raises(RecapError, match="is not the name of a picture"):
        source_of("gsr").pictures_of(image)


def test_a_broken_checksum_file_is_named(site: Site, tmp_path: Path) -> None:
    serve_vsr(site)
    (tmp_path / "checksums.txt").write_text("# mine\n")
    with pytest.raises(RecapError, match=r"checksums.txt:1: not a line of sha256sum"):
        fetch_vsr(site, tmp_path)


def test_every_benchmark_has_a_source_and_its_files(data: Path) -> None:
    others = {each.name for each in BENCHMARKS}  # read from files that users bring
    assert set(load_sources()) == set(DATASETS) - others
    for name, source in load_sources().items():
        assert {file.path for file in source.files} == set(DATASETS[name].files)
        for file in source.files:
            if file.sha256:
                assert sha256((data / name / file.path).read_bytes()) == file.sha256


def test_the_command_prints_the_terms_and_the_counts(recap: Recap, site: Site, tmp_path: Path) -> None:
    serve_gsr(site, tmp_path / "data")
    ran = recap("data", "fetch", "gsr", "--mirror", site.url, cwd=tmp_path)
    assert ran.code == 0
    assert ran.out == f"{Path('data/gsr')}: 6 statements, 3 pictures\n"
    assert "recap: gsr, annotations: MIT" in ran.err
    assert "CC BY 4.0 (visualgenome.org)" in ran.err
    assert "2 images that another benchmark shows too are left out" in ran.err
    del site.files["gsr/coco/000000000030.jpg"]
    (tmp_path / "data" / "gsr" / "coco" / "000000000030.jpg").unlink()
    ran = recap("data", "fetch", "gsr", "--mirror", site.url, cwd=tmp_path)
    assert ran.code == 2
    assert ran.err.endswith(
        "/gsr/coco/000000000030.jpg: not there, or not given out\n"
        "recap: 1 pictures could not be fetched; the same command tries those again\n"
    )


def test_a_server_out_of_reach_ends_in_one_line(recap: Recap, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        ran = recap("data", "fetch", "vsr", "--mirror", f"http://127.0.0.1:{taken.getsockname()[1]}", cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert "Traceback" not in ran.err
    lines = [line for line in ran.err.splitlines() if not line.startswith("recap: vsr, ")]
    assert len(lines) == 1
    assert "random/test.jsonl: connection refused (tried 4 times)" in lines[0]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("mirror", ["mirror.example", "ftp://mirror.example"])
def test_a_mirror_is_an_address(tmp_path: Path, mirror: str) -> None:
    with pytest.raises(RecapError, match=f'the mirror is "{mirror}"'):
        fetch_dataset("vsr", tmp_path, mirror=mirror)
