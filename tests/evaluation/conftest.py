from __future__ import annotations

from collections.abc import Iterator

import pytest

from recap.evaluation.datasets.fetch import download
from tests.evaluation.site import Site, serving


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setattr(download, "PAUSE", 0.01)
    with serving(Site()) as opened:
        yield opened
