"""Links and paths in the documentation lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.reading import PAGES, ROOT

CARDS = sorted((ROOT / "src" / "recap" / "world" / "checkpoints").glob("*/README.md"))
SOURCES = (ROOT, ROOT / "src", ROOT / "src" / "recap")


def anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md", *CARDS], ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        led = page if not path else page.parent / path
        assert led.exists(), f"{page.name}: {target}"
        assert not anchor or anchor in anchors(led), f"{page.name}: {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_are_named_exist(page: Path) -> None:
    """`policy/gate.py: confidence_gate` names a file of the source, and something in it."""
    for span in re.findall(r"`([\w./-]+\.(?:py|toml|csv)(?:: \w+)?)`", page.read_text("utf-8")):
        path, _, name = span.partition(": ")
        if path in ("my.toml", "learned.toml", "blocks.py") or path.startswith(
            "tables/"
        ):  # files that a reader has or makes
            continue
        files = [base / path for base in SOURCES if (base / path).exists()]
        files = files or [*(ROOT / "src").rglob(Path(path).name)] * ("/" not in path)
        assert files, f"{page.name}: {span}"
        assert not name or any(re.search(rf"\b{name}\b", file.read_text("utf-8")) for file in files), span
