"""An audit reads its question once, opens its picture once and plans its probes once, whichever way it comes in."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="fastapi is not installed: pip install 'recap-vlm[server]'")

from starlette.testclient import TestClient

from recap.audit import Auditor
from recap.claims.parser import parse
from recap.cli.audit import run
from recap.images import open_picture
from recap.probes import plan_probes
from recap.server.app import create_app
from recap.server.intake.decoding import DecodingProcess
from recap.server.service import Service
from recap.world.scheme import open_image
from tests.counting import counting
from tests.server.callers import QUESTION, SCENE, body, guarded, post
from tests.server.upstream import Upstream

ONCE = {"parse": 1, "open_picture": 1, "plan_probes": 1}


def png() -> bytes:
    stream = io.BytesIO()
    open_image(SCENE).save(stream, "PNG")
    return stream.getvalue()


def url() -> str:
    return "data:image/png;base64," + base64.b64encode(png()).decode()


def api(auditor: Auditor, path: str = "", **given: Any) -> None:
    with TestClient(create_app(Service(auditor))) as client:
        assert client.post(f"/v1/audit{path}", **given).status_code == 200


def library(auditor: Auditor, folder: Path) -> None:
    auditor.audit(folder / "scene.png", QUESTION)


def command(_auditor: Auditor, folder: Path) -> None:
    run(str(folder / "scene.png"), QUESTION, json=True)


def json_body(auditor: Auditor, _folder: Path) -> None:
    api(auditor, json={"image": url(), "question": QUESTION})


def batch(auditor: Auditor, _folder: Path) -> None:
    api(auditor, "/batch", json={"audits": [{"image": url(), "question": QUESTION}]})


def guard(auditor: Auditor, _folder: Path) -> None:
    with guarded(auditor, Upstream(lambda _: "Yes.")) as address:
        assert post(address, body(url())).headers["x-recap"] == "accepted"


@pytest.mark.parametrize("audit", [library, command, json_body, batch, guard])
def test_an_audit_reads_opens_and_plans_once(
    auditor: Auditor, tmp_path: Path, audit: Callable[[Auditor, Path], None]
) -> None:
    (tmp_path / "scene.png").write_bytes(png())
    with counting(parse, open_picture, plan_probes, DecodingProcess.decode) as calls:
        audit(auditor, tmp_path)
    calls["open_picture"] += calls.pop("decode", 0)  # a service opens pictures in processes of their own
    assert calls == ONCE
