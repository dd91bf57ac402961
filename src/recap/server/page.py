"""The page at /, the files that it is made of, and the scenes and photographs that it offers."""

from __future__ import annotations

import io
import threading
import tomllib
from functools import cache
from importlib import resources
from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse, Response
from starlette.exceptions import HTTPException

import recap
from recap.server.schema import ErrorResponse, ModelResponse, SceneResponse, ScenesResponse
from recap.server.security import PAGE_FILES
from recap.server.service import Service
from recap.world.bundled import PREFIX
from recap.world.scheme import open_image

PALETTE = "report/charts/palette.css"
"""the page wears the colours of the reports, from the very same file"""
BRIEFLY, LONGER = {"cache-control": "private, max-age=60"}, {"cache-control": "private, max-age=3600"}
PICTURE_SIZE = 480
LISTS = ("scenes.toml", "photographs/photographs.toml")
DRAWING = threading.Lock()
"""the first picture of a benchmark lays out all its scenes: once is enough"""


def add_page(app: FastAPI, service: Service) -> None:
    """The routes of the page. Its files need no token; what it then asks the API for does."""
    package = Path(recap.__file__).parent
    files = {path.name: path for path in (*(package / "server" / "page").iterdir(), package / PALETTE)}
    index = files.pop("index.html")

    @app.get("/", include_in_schema=False)
    async def page() -> FileResponse:
        return FileResponse(index, headers=BRIEFLY)

    @app.get(PAGE_FILES + "{name}", include_in_schema=False)
    async def file(name: str) -> FileResponse:
        if name not in files:
            raise HTTPException(404, "the page has no such file")
        return FileResponse(files[name], headers=BRIEFLY)

    @app.get("/v1/scenes", summary="Scenes in the box, with things to ask")
    async def offered() -> ScenesResponse:
        at_home = any(name.startswith(PREFIX) for name in service.auditors)
        models = [
            ModelResponse(name=name, pictures=domain and domain.pictures, knows=domain and list(domain.things))
            for name, domain in ((name, each.domain) for name, each in service.auditors.items())
        ]
        return ScenesResponse(model=service.model, at_home=at_home, models=models, scenes=list(scenes().values()))

    @app.get(
        "/v1/scenes/{name:path}/picture",
        summary="A scene as people see it, or a photograph",
        response_class=Response,
        responses={
            200: {"content": {"image/png": {}, "image/jpeg": {}}},
            404: {"model": ErrorResponse, "description": "No such scene."},
        },
    )
    def picture(name: str) -> Response:
        if name not in scenes():
            raise HTTPException(404, "there is no such scene; GET /v1/scenes names those that there are")
        kind = "image/jpeg" if scenes()[name].kind == "photograph" else "image/png"
        return Response(scene_picture(name), media_type=kind, headers=LONGER)


def draw_ahead() -> None:
    """Draw the scenes in the background: laying out a benchmark takes seconds, and a first visitor should not wait."""
    threading.Thread(target=lambda: [scene_picture(name) for name in scenes()], name="scenes", daemon=True).start()


@cache
def scenes() -> dict[str, SceneResponse]:
    """The scenes and photographs that are offered, by name."""
    files = (resources.files("recap.server").joinpath(name) for name in LISTS)
    listed = [each for file in files for each in tomllib.loads(file.read_text("utf-8"))["scenes"]]
    return {each["name"]: SceneResponse(**each) for each in listed}


@cache
def scene_picture(name: str) -> bytes:
    """A scene as a PNG file, a photograph as its JPEG. Only names of `scenes` come here: a handful is kept."""
    if scenes()[name].kind == "photograph":
        return resources.files("recap.server").joinpath("photographs", f"{name.partition('/')[2]}.jpg").read_bytes()
    stream = io.BytesIO()
    with DRAWING:
        open_image(name, PICTURE_SIZE).save(stream, "PNG")
    return stream.getvalue()
