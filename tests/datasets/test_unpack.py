from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from recap.datasets.fetch.folder import unpack
from recap.datasets.probing import locate
from recap.errors import RecapError
from tests.datasets.official import CLEVR, archive, fetch_whatsup, picture, serve_whatsup
from tests.datasets.site import Site


def test_whatsup_comes_out_of_its_archives(site: Site, tmp_path: Path) -> None:
    shown = serve_whatsup(site)
    got = fetch_whatsup(site, tmp_path)
    assert (len(got.items), got.pictures, got.failed) == (20, 10, ())
    for image, content in shown.items():
        assert locate(tmp_path, image) == str(tmp_path / image)
        assert (tmp_path / image).read_bytes() == content
    assert not list(tmp_path.rglob("*unwanted*"))
    site.seen.clear()
    (tmp_path / "controlled_images.tar.gz").unlink()  # nothing more is needed of it
    assert fetch_whatsup(site, tmp_path).pictures == 10
    assert site.seen == []


def test_a_picture_that_is_lost_comes_out_of_the_archive_that_stayed(site: Site, tmp_path: Path) -> None:
    shown = serve_whatsup(site)
    fetch_whatsup(site, tmp_path)
    lost, spoilt = list(shown)[:2]
    (tmp_path / lost).unlink()
    (tmp_path / spoilt).write_bytes(b"spoilt")
    site.seen.clear()
    assert fetch_whatsup(site, tmp_path).pictures == 10
    assert [(tmp_path / image).read_bytes() for image in (lost, spoilt)] == [shown[lost], shown[spoilt]]
    assert site.seen == []


@pytest.mark.parametrize("bad", ["no archive", "cut short", "hostile"])
def test_a_bad_archive_is_removed_and_its_pictures_named(site: Site, tmp_path: Path, bad: str) -> None:
    serve_whatsup(site)
    good = site.files[CLEVR]
    site.files[CLEVR] = {
        "no archive": b"no archive",
        "cut short": good[: len(good) // 2],
        "hostile": archive({"../evil": b"evil"}),
    }[bad]
    said: list[str] = []
    got = fetch_whatsup(site, tmp_path / "in", say=said.append)
    assert (got.pictures, len(got.failed)) == (5, 5)
    assert said[-1].startswith(f"{tmp_path / 'in' / 'controlled_clevr.tar.gz'}: ")
    assert said[-1].endswith("; removed")
    assert not (tmp_path / "in" / "controlled_clevr.tar.gz").exists()
    assert not (tmp_path / "evil").exists()
    site.files[CLEVR] = good
    assert fetch_whatsup(site, tmp_path / "in").pictures == 10


def test_an_archive_that_cannot_be_had_or_lacks_a_picture(site: Site, tmp_path: Path) -> None:
    shown = serve_whatsup(site)
    del site.files[CLEVR]
    site.files["whatsup/controlled_images.tar.gz"] = archive({"controlled_images/mug_on_table0.jpeg": picture("a")})
    said: list[str] = []
    got = fetch_whatsup(site, tmp_path, say=said.append)
    assert got.pictures == 1
    assert said[-1] == f"{site.url}/{CLEVR}: not there, or not given out"
    assert f"{tmp_path / list(shown)[1]}: not in {tmp_path / 'controlled_images.tar.gz'}" in got.failed
    assert f"{tmp_path / list(shown)[-1]}: its archive could not be fetched" in got.failed


@pytest.mark.parametrize("name", ["../evil", "/evil", "a/../../evil", "../../controlled_images/x.jpeg"])
def test_a_hostile_archive_writes_nothing(tmp_path: Path, name: str) -> None:
    inner = tmp_path / "in"
    inner.mkdir()
    source = inner / "a.tar.gz"
    source.write_bytes(archive({"controlled_images/x.jpeg": b"x", name: b"evil"}))
    with pytest.raises(RecapError, match=f'its member "{name}" leads out of the folder'):
        unpack(source, {"controlled_images/x.jpeg": inner / "x.jpeg", "evil": inner / "evil"})
    assert [path.name for path in tmp_path.rglob("*")] == ["in", "a.tar.gz"]


def test_a_link_in_an_archive_is_no_picture(tmp_path: Path) -> None:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as tar:
        link = tarfile.TarInfo("images/x.jpeg")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    (tmp_path / "a.tar.gz").write_bytes(stream.getvalue())
    assert unpack(tmp_path / "a.tar.gz", {"images/x.jpeg": tmp_path / "x.jpeg"}) == set()
    assert not (tmp_path / "x.jpeg").exists()
