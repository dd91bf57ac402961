"""The official places and terms of each benchmark, kept as data in `sources.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import PurePosixPath

from pydantic import BaseModel, ConfigDict

from recap.errors import RecapError, one_of, quoted


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class File(_Frozen):
    """One file: where it goes, the places that have it, and its digest where that is known for certain."""

    path: str
    urls: tuple[str, ...]
    sha256: str | None = None


class Pictures(_Frozen):
    """Where the pictures come from whose names begin with `prefix`: one by one, or out of an archive."""

    prefix: str
    path: str
    urls: tuple[str, ...] = ()
    archive: File | None = None
    member: str = ""

    def file(self, image: str) -> File:
        """One picture as a file of its own."""
        names = {"image": image, "name": PurePosixPath(image).name}
        return File(path=self.path.format(**names), urls=tuple(url.format(**names) for url in self.urls))

    def member_of(self, image: str) -> str:
        """What the archive calls a picture."""
        return self.member.format(image=image, name=PurePosixPath(image).name)


class OfficialSource(_Frozen):
    """A benchmark's official files."""

    terms: tuple[str, ...]
    page: str
    files: tuple[File, ...]
    pictures: tuple[Pictures, ...]
    beside: tuple[str, ...] = ()

    def pictures_of(self, image: str) -> Pictures:
        """Where an image comes from. A name that would lead out of the folder is nobody's picture."""
        parts = PurePosixPath(image).parts
        if parts and not {"..", "/"} & set(parts) and "\\" not in image:
            for pictures in self.pictures:
                if image.startswith(pictures.prefix):
                    return pictures
        raise RecapError(f"{quoted(image)} is not the name of a picture of this benchmark")


@cache
def load_sources() -> dict[str, OfficialSource]:
    """All benchmarks that can be fetched, by name."""
    text = resources.files("recap.datasets.fetch").joinpath("sources.toml").read_text("utf-8")
    return {name: OfficialSource.model_validate(table) for name, table in tomllib.loads(text).items()}


def source_of(name: str, known: Mapping[str, OfficialSource] | None = None) -> OfficialSource:
    """A benchmark's source by name."""
    known = known or load_sources()
    one_of(name, known, "a benchmark that can be fetched")
    return known[name]
