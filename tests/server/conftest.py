from __future__ import annotations

import base64
import io
from collections.abc import Generator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest

from recap import Auditor
from recap.world.scheme import open_image
from tests.server.callers import SCENE, Start, guarded, hang_up
from tests.server.upstream import Upstream


@pytest.fixture(scope="session")
def auditor() -> Auditor:
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    return Auditor.load("world:aligned")


@pytest.fixture(scope="session")
def url() -> str:
    """A scene as a data: URL."""
    held = io.BytesIO()
    open_image(SCENE).save(held, "PNG")
    return "data:image/png;base64," + base64.b64encode(held.getvalue()).decode()


@pytest.fixture(scope="session")
def standing(auditor: Auditor) -> Generator[dict[str, tuple[str, Upstream]]]:
    """Two guards that most tests share; each test tells the upstream anew what to do."""
    with ExitStack() as stack:
        both = {on_reject: Upstream() for on_reject in ("annotate", "replace")}
        yield {
            on_reject: (stack.enter_context(guarded(auditor, upstream, on_reject=on_reject)), upstream)
            for on_reject, upstream in both.items()
        }


@pytest.fixture(scope="session", autouse=True)
def _hang_up() -> Generator[None]:
    yield
    hang_up()


@pytest.fixture
def guard(auditor: Auditor, standing: dict[str, tuple[str, Upstream]]) -> Generator[Start]:
    """A guard before a scripted upstream."""
    with ExitStack() as stack:

        def start(upstream: Upstream | None = None, **options: Any) -> tuple[str, Upstream]:
            fresh = upstream or Upstream()
            if set(options) <= {"on_reject"}:
                address, behind = standing[options.get("on_reject", "annotate")]
                vars(behind).update(vars(replace(fresh, port=behind.port)))
                return address, behind
            return stack.enter_context(guarded(options.pop("auditor", auditor), fresh, **options)), fresh

        yield start
