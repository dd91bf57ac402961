"""Every Python snippet of the documentation runs, in the order in which its page has them."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

from tests.docs.reading import ROOT, Block, snippets
from tests.docs.rules import STAND_INS

IMPORTS_ONLY = {
    "docs/extend.md": "tests/test_extend.py builds, installs and runs it: what it registers should stay out of other tests",
    "docs/cluster.md": "needs Ray; make test-ray runs its like",
    "docs/served.md": "needs a server; tests/models/remote runs its like",
    "docs/serve.md": "needs a server before the guard; tests/server/test_guard.py runs its like",
}
"""pages whose snippets are parsed, and only their imports are run"""
ELSEWHERE = {"docs/integrations.md": "needs the tools that it is about; tests/integrations/test_docs.py runs them"}
"""pages whose snippets are only parsed here"""


@pytest.mark.parametrize("page", sorted({each.page for each in snippets()}))
@pytest.mark.usefixtures("folder")
def test_the_snippets_of_a_page_run(page: str) -> None:
    names: dict[str, object] = {}
    for block in (each for each in snippets() if each.page == page):
        if page in ELSEWHERE:
            ast.parse(block.text)
            continue
        if page in IMPORTS_ONLY:
            check_imports(block)
            continue
        text = block.text
        for placeholder, stand_in in STAND_INS.items():
            if len(placeholder) > 3:
                text = text.replace(f'"{placeholder}"', f'"{stand_in}"')
        exec(compile(text, block.place, "exec"), names)


def check_imports(block: Block) -> None:
    for node in ast.walk(ast.parse(block.text)):
        if isinstance(node, ast.ImportFrom):
            assert node.module is not None
            module = importlib.import_module(node.module)
            for name in node.names:
                assert hasattr(module, name.name), f"{block.place}: {node.module} has no {name.name}"
        elif isinstance(node, ast.Import):
            for name in node.names:
                importlib.import_module(name.name)


def test_pages_that_are_not_run_exist() -> None:
    assert all((ROOT / Path(page)).is_file() for page in IMPORTS_ONLY | ELSEWHERE)
