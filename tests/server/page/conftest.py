# What needs playwright is imported where it is used: where it is missing, the tests of the page are skipped and no others.
from __future__ import annotations

import io
from collections.abc import Generator
from typing import TYPE_CHECKING

import pytest

from recap.world.scheme import open_image
from tests.server.running import serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.server.page.browsing import Visit


@pytest.fixture(scope="session")
def browser() -> Generator[Browser]:
    from tests.server.page.browsing import chromium

    with chromium() as found:
        yield found


@pytest.fixture(scope="session")
def url() -> Generator[str]:
    with serving() as server:
        yield server.url


@pytest.fixture
def visit(browser: Browser, url: str) -> Generator[Visit]:
    from tests.server.page.browsing import visiting

    with visiting(browser, url) as found:
        yield found


@pytest.fixture(scope="session")
def picture() -> bytes:
    from tests.server.page.browsing import SCENE

    held = io.BytesIO()
    open_image(SCENE).save(held, "PNG")
    return held.getvalue()
