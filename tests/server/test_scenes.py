"""The page's files and scenes, without a browser."""

from __future__ import annotations

import io
import re
from importlib import resources

import pytest
from PIL import Image

pytest.importorskip("fastapi", reason="fastapi is not installed: pip install 'recap-vlm[server]'")

from starlette.testclient import TestClient

from recap.audit import Auditor
from recap.claims import default_graph
from recap.routing import BundledAuditor
from recap.schemes import DEFAULT_MODEL, DEFAULT_MODELS
from recap.server.app import create_app
from recap.server.page import PICTURE_SIZE, scene_picture, scenes
from recap.server.service import Service
from recap.world.benchmarks import benchmark
from recap.world.objects import things

TOKEN = "sesame-sesame-sesame"


PAGE = resources.files("recap.server").joinpath("page")


@pytest.fixture(scope="module")
def client() -> TestClient:
    return TestClient(create_app(Service(Auditor.load(DEFAULT_MODEL), token=TOKEN)))


@pytest.fixture(scope="module")
def bundled() -> BundledAuditor:
    return BundledAuditor(DEFAULT_MODELS)


def test_the_page_and_its_files_load_without_a_token(client: TestClient) -> None:
    assert client.get("/").headers["content-type"] == "text/html; charset=utf-8"
    kinds = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
    for name in [*(each.name for each in PAGE.iterdir() if each.name != "index.html"), "palette.css"]:
        got = client.get(f"/page/{name}")
        assert got.status_code == 200
        assert got.headers["content-type"].startswith(kinds[name.rpartition(".")[2]])
        assert "max-age" in got.headers["cache-control"]


@pytest.mark.parametrize("path", ["nothing.js", "index.html", "", "..%2fapp.py", "%2e%2e/app.py", "page.js/x"])
def test_nothing_else_is(client: TestClient, path: str) -> None:
    assert client.get(f"/page/{path}", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 404


def test_an_unknown_page_file_is_refused_in_words(client: TestClient) -> None:
    assert client.get("/page/nothing.js").json() == {"error": "the page has no such file"}


def test_page_files_have_a_latency_label_of_their_own(client: TestClient) -> None:
    known = {"authorization": f"Bearer {TOKEN}"}

    def timed(label: str) -> int:
        line = re.search(
            rf'^recap_request_seconds_count{{path="{label}"}} (\d+)', client.get("/metrics", headers=known).text, re.M
        )
        return 0 if line is None else int(line[1])

    before, other = timed("/page/{name}"), timed("other")
    for name in ("page.js", "page.css", "palette.css"):
        assert client.get(f"/page/{name}").status_code == 200
    assert timed("/page/{name}") == before + 3
    assert timed("other") == other


def test_neither_script_nor_style_is_inside_the_page(client: TestClient) -> None:
    text = client.get("/").text
    assert "<style" not in text
    assert " style=" not in text
    assert text.count("<script") == 1
    assert 'src="page/page.js"></script>' in text
    assert "http" not in text


def test_scenes_are_for_those_who_have_the_token(client: TestClient) -> None:
    assert client.get("/v1/scenes").status_code == 401
    told = client.get("/v1/scenes", headers={"authorization": f"Bearer {TOKEN}"}).json()
    assert (told["model"], told["at_home"], len(told["scenes"])) == (DEFAULT_MODEL, True, 15)
    assert told["models"] == [{"name": DEFAULT_MODEL, "pictures": "drawn scenes", "knows": list(things())}]


def test_a_scene_is_drawn_and_an_unknown_one_is_not(client: TestClient) -> None:
    known = {"authorization": f"Bearer {TOKEN}"}
    got = client.get("/v1/scenes/world:whatsup/0032/picture", headers=known)
    assert got.headers["content-type"] == "image/png"
    assert Image.open(io.BytesIO(got.content)).size == (PICTURE_SIZE, PICTURE_SIZE)
    for name in ("world:whatsup/0033", "world:nothing/0000", "../../etc/passwd", "x"):
        assert client.get(f"/v1/scenes/{name}/picture", headers=known).status_code == 404


def test_photographs_come_along_with_their_terms(client: TestClient) -> None:
    known = {"authorization": f"Bearer {TOKEN}"}
    found = [each for each in scenes().values() if each.kind == "photograph"]
    assert len(found) == 3
    terms = resources.files("recap.server").joinpath("photographs", "README.md").read_text("utf-8")
    sizes: list[int] = []
    for each in found:
        got = client.get(f"/v1/scenes/{each.name}/picture", headers=known)
        assert got.headers["content-type"] == "image/jpeg"
        assert min(Image.open(io.BytesIO(got.content)).size) >= 300
        sizes.append(len(got.content))
        assert each.credit is not None
        assert each.credit.endswith(("CC0", "public domain"))
        assert f"`{each.name.partition('/')[2]}.jpg`" in terms
        assert all(default_graph().parse(question).covered for question in each.questions)
    assert sum(sizes) < 150_000


SHOWN = {
    "photograph/coffee": (("yes", "rejected"), ("yes", "accepted"), ("yes", "accepted"), (None, "no-verdict")),
    "photograph/cat": (("no", "accepted"), ("no", "accepted"), (None, "no-verdict")),
    "photograph/astronaut": (("yes", "rejected"), ("yes", "accepted"), ("no", "accepted"), (None, "no-verdict")),
}
"""what is said about the photographs' questions, in their order: every accepted answer is right, no rejected one is"""


@pytest.mark.parametrize("name", SHOWN)
def test_a_photographs_questions_show_every_kind_of_verdict(bundled: BundledAuditor, name: str) -> None:
    picture = Image.open(io.BytesIO(scene_picture(name))).convert("RGB")
    verdicts = bundled.audit_many([(picture, question) for question in scenes()[name].questions])
    assert {each.model for each in verdicts} == {"photo:coco"}
    told = tuple((each.answer if each.no_verdict is None else None, each.word) for each in verdicts)
    assert told == SHOWN[name]
    assert [each.no_verdict for each in verdicts if each.no_verdict] == [
        f'photo:coco does not know "{verdicts[-1].row.object}"'
    ]


@pytest.mark.parametrize("name", [name for name, scene in scenes().items() if scene.kind == "drawing"])
def test_scenes_show_what_they_say_and_can_be_asked_about(name: str) -> None:
    scene = scenes()[name]
    dataset, _, number = name.removeprefix("world:").partition("/")
    assert scene.things == benchmark(dataset).scenes.names(int(number))
    assert 3 <= len(scene.questions) <= 4
    for question in scene.questions:
        claim = default_graph().parse(question).statement
        assert {claim.subject, claim.object} <= set(scene.things)
        assert {claim.subject, claim.object} <= set(things())
