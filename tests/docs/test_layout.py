"""The packages that CONTRIBUTING.md lists are those of the code, in the order in which they may import each other."""

from __future__ import annotations

import re
import tomllib

from tests.docs.reading import ROOT

LISTED = [
    name.strip("`/").removesuffix(".py")
    for cell in re.findall(r"^\| (`[a-z_/.`, ]+`) \|", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.MULTILINE)
    for name in cell.split(", ")
]


def test_every_package_is_listed() -> None:
    packages = {path.parent.name for path in (ROOT / "src" / "recap").glob("*/__init__.py")}
    assert packages <= set(LISTED)
    for name in LISTED:
        assert (ROOT / "src" / "recap" / name).is_dir() or (ROOT / "src" / "recap" / f"{name}.py").is_file(), name


def test_the_list_has_the_order_of_imports() -> None:
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    layer = {
        module.strip().removeprefix("recap."): number
        for number, modules in enumerate(reversed(contract["layers"]))
        for module in modules.split("|")
    }
    order = [layer[name] for name in LISTED if name in layer]
    assert len(order) > 15
    assert order == sorted(order)
