"""The page at /, the files that it is made of, and the scenes that it offers."""

from __future__ import annotations

import io
import threading
import tomllib
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.responses import FileResponse, Response
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

import recap
from recap.server.schema import ErrorResponse, SceneResponse, ScenesResponse
from recap.server.security import PAGE_FILES
from recap.server.service import Service
from recap.world.bundled import PREFIX
from recap.world.objects import things
from recap.world.scheme import open_image

PALETTE = "report/charts/palette.css"
"""the page wears the colours of the reports, from the very same file"""
BRIEFLY, LONGER = {"cache-control": "private, max-age=60"}, {"cache-control": "private, max-age=3600"}
PICTURE_SIZE = 480
DRAWING = threading.Lock()
"""the first picture of a benchmark lays out all its scenes: once is enough"""


class PageFiles(StaticFiles):
    """The page's files, which a browser may keep for a minute."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        response = super().file_response(*args, **kwargs)
        response.headers.update(BRIEFLY)
        return response


def add_page(app: FastAPI, service: Service) -> None:
    """The routes of the page. Its files need no token; what it then asks the API for does."""
    package = Path(recap.__file__).parent
    folder = package / "server" / "page"

    @app.get("/", include_in_schema=False)
    async def page() -> FileResponse:
        return FileResponse(folder / "index.html", headers=BRIEFLY)

    @app.get(f"{PAGE_FILES}/palette.css", include_in_schema=False)
    async def palette() -> FileResponse:
        return FileResponse(package / PALETTE, headers=BRIEFLY)

    app.mount(PAGE_FILES, PageFiles(directory=folder))
    _scenes(app, service)


def draw_ahead() -> None:
    """Draw the scenes in the background: laying out a benchmark takes seconds, and a first visitor should not wait."""

    def draw() -> None:
        for name in scenes():
            with DRAWING:
                scene_picture(name)

    threading.Thread(target=draw, name="scenes", daemon=True).start()


def _scenes(app: FastAPI, service: Service) -> None:
    @app.get("/v1/scenes", summary="Scenes in the box, with things to ask")
    async def offered() -> ScenesResponse:
        at_home = service.model.startswith(PREFIX)
        return ScenesResponse(
            model=service.model,
            at_home=at_home,
            knows=list(things()) if at_home else None,
            scenes=list(scenes().values()),
        )

    @app.get(
        "/v1/scenes/{name:path}/picture",
        summary="A scene as people see it",
        response_class=Response,
        responses={200: {"content": {"image/png": {}}}, 404: {"model": ErrorResponse, "description": "No such scene."}},
    )
    def picture(name: str) -> Response:
        if name not in scenes():
            raise HTTPException(404, "there is no such scene; GET /v1/scenes names those that there are")
        with DRAWING:
            drawn = scene_picture(name)
        return Response(drawn, media_type="image/png", headers=LONGER)


@cache
def scenes() -> dict[str, SceneResponse]:
    """The scenes that are offered, by name."""
    listed = tomllib.loads(resources.files("recap.server").joinpath("scenes.toml").read_text("utf-8"))["scenes"]
    return {each["name"]: SceneResponse(**each) for each in listed}


@cache
def scene_picture(name: str) -> bytes:
    """A scene as a PNG file. Only names of `scenes` come here, so that a handful is all that is ever kept."""
    stream = io.BytesIO()
    open_image(name, PICTURE_SIZE).save(stream, "PNG")
    return stream.getvalue()
