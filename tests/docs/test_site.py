"""The site holds every page, its reference every public name, and its notebooks what they printed; releases are described truly."""

from __future__ import annotations

import json
import re
import tomllib

import pytest
import yaml

import recap
from tests.docs.reading import ROOT

DOCS = ROOT / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
GITHUB = ROOT / ".github"


def test_the_contents_list_what_there_is() -> None:
    """Pages that are not listed come last in the site; docs/conf.py sees to that."""
    listed = set(re.findall(r"^([\w/-]+)$", (DOCS / "index.md").read_text("utf-8"), re.MULTILINE))
    pages = {path.stem for ending in ("md", "rst") for path in DOCS.glob(f"*.{ending}")} - {"index"}
    notebooks = {f"notebooks/{path.stem}" for path in NOTEBOOKS}
    assert listed <= pages | notebooks
    assert notebooks | {"tutorial", "commands", "reference", "method", "reproduce"} <= listed


def test_every_public_name_is_in_the_reference() -> None:
    documented = set(
        re.findall(r"^\.\. auto\w+:: recap\.(\w+)$", (DOCS / "reference.rst").read_text("utf-8"), re.MULTILINE)
    )
    assert documented == set(recap.__all__) - {"RISKS", "__version__"}


def test_there_are_three_notebooks() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["audit-a-picture", "calibrate-with-a-guarantee", "evaluate-your-model"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_as_it_ran(path) -> None:
    text = path.read_text("utf-8")
    assert not re.search(r"(?<![\w.:/])/(?:home|root|tmp|work|Users|usr|opt)/", text)
    assert len(text) < 300_000
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert sum(bool(cell["outputs"]) for cell in cells) >= len(cells) - 1
    assert not any(output["output_type"] == "error" for cell in cells for output in cell["outputs"])


def test_uvx_finds_a_command_of_the_packages_name() -> None:
    scripts = PYPROJECT["project"]["scripts"]
    assert scripts[PYPROJECT["project"]["name"]] == scripts["recap"]


def test_the_citation_names_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == recap.__version__
    assert citation["license"] == PYPROJECT["project"]["license"]
    assert {"cff-version", "message", "title", "authors"} <= set(citation)


def test_a_release_is_published_without_a_stored_token() -> None:
    text = (GITHUB / "workflows" / "release.yml").read_text("utf-8")
    workflow = yaml.safe_load(text)
    publish = workflow["jobs"]["publish"]
    assert publish["permissions"] == {"id-token": "write"}
    assert any("pypa/gh-action-pypi-publish" in step.get("uses", "") for step in publish["steps"])
    assert "secrets." not in text
    targets = re.findall(r"make ([\w-]+)", text)
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert targets
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)


@pytest.mark.parametrize("path", sorted((GITHUB / "ISSUE_TEMPLATE").glob("*.yml")), ids=lambda path: path.stem)
def test_issue_templates_are_forms(path) -> None:
    form = yaml.safe_load(path.read_text("utf-8"))
    if path.stem != "config":
        assert {"name", "description", "body"} <= set(form)
        assert all({"type", "id", "attributes"} <= set(part) for part in form["body"])
