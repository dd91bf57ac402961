from __future__ import annotations

from collections.abc import Iterator

import pytest

from recap.datasets.fetch import download
from tests.datasets.site import Site, serving


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setattr(download, "PAUSE", 0.01)
    with serving(Site()) as opened:
        yield opened
