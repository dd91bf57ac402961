"""The page at /, the files that it is made of, and the scenes that it offers."""

from __future__ import annotations

import io
import threading
import tomllib
from functools import cache
from importlib import resources

from fastapi import FastAPI
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from recap.server.schema import ErrorResponse, SceneResponse, ScenesResponse
from recap.server.security import PAGE_FILES
from recap.server.service import Service
from recap.world.bundled import PREFIX
from recap.world.objects import things
from recap.world.scheme import open_image

HTML, CSS, SCRIPT, SVG = "text/html", "text/css", "text/javascript", "image/svg+xml"
FILES = {
    "index.html": HTML,
    "page.css": CSS,
    "verdict.css": CSS,
    "page.js": SCRIPT,
    "api.js": SCRIPT,
    "coverage.js": SCRIPT,
    "history.js": SCRIPT,
    "picture.js": SCRIPT,
    "scale.js": SCRIPT,
    "scenes.js": SCRIPT,
    "sharing.js": SCRIPT,
    "trail.js": SCRIPT,
    "verdict.js": SCRIPT,
    "words.js": SCRIPT,
    "icon.svg": SVG,
}
PALETTE = "report/charts/palette.css"
"""the page wears the colours of the reports, from the very same file"""
BRIEFLY, LONGER = {"cache-control": "private, max-age=60"}, {"cache-control": "private, max-age=3600"}
PICTURE_SIZE = 480
DRAWING = threading.Lock()
"""the first picture of a benchmark lays out all its scenes: once is enough"""


def add_page(app: FastAPI, service: Service) -> None:
    """The routes of the page. Its files need no token; what it then asks the API for does."""
    _files(app)
    _scenes(app, service)


def _files(app: FastAPI) -> None:
    package = resources.files("recap")
    held = {name: (package.joinpath("server/page", name).read_bytes(), kind) for name, kind in FILES.items()}
    held["palette.css"] = package.joinpath(PALETTE).read_bytes(), CSS
    index, _ = held.pop("index.html")

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        return Response(index, media_type=HTML, headers=BRIEFLY)

    @app.get(PAGE_FILES + "{name}", include_in_schema=False)
    async def file(name: str) -> Response:
        if name not in held:
            raise HTTPException(404, "the page has no such file")
        content, kind = held[name]
        return Response(content, media_type=kind, headers=BRIEFLY)


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
    told = io.BytesIO()
    open_image(name, PICTURE_SIZE).save(told, "PNG")
    return told.getvalue()
