"""What is installed, and from where: floors above known advisories, and locks that hold every file's hash."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def audit() -> ModuleType:
    spec = importlib.util.spec_from_file_location("audit", ROOT / "requirements" / "audit.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_nothing_is_admitted_below_its_floor(audit: ModuleType) -> None:
    assert audit.problems(environment=False) == []


def test_the_check_can_fail(audit: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements" / "floors.toml").write_text('[floors]\npillow = { version = "13.0.0", why = "x" }\n')
    (tmp_path / "requirements" / "a.lock").write_text("pillow==12.0 \\\n    --hash=sha256:00\nnumpy==2.0\n")
    (tmp_path / "constraints.txt").write_text("Pillow==11.3\n")
    (tmp_path / "pyproject.toml").write_text(
        '[project]\ndependencies = ["pillow>=11"]\n[project.optional-dependencies]\nx = ["pillow"]\n'
    )
    found = "\n".join(audit.problems(tmp_path, environment=False))
    for part in (
        "pyproject.toml: pillow 11 is",
        "pillow of any version",
        "constraints.txt: pillow 11.3",
        "a.lock: pillow 12.0",
        "numpy==2.0 has no hash",
    ):
        assert part in found


@pytest.mark.parametrize(
    ("name", "extras"),
    [
        ("local", "local"),
        ("eval", "local eval"),
        ("server", "local server"),
        ("dev", "dev local server"),
        ("ray", "dev local server ray"),
    ],
)
def test_every_requirement_is_locked_at_the_version_that_was_tested(name: str, extras: str) -> None:
    """If this fails: make lock."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    def pins(path: Path) -> dict[str, str]:
        found = re.findall(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", path.read_text("utf-8"), re.MULTILINE)
        return {canonicalize_name(package): version for package, version in found}

    locked, tested = pins(ROOT / "requirements" / f"{name}.lock"), pins(ROOT / "constraints.txt")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [
        *project["dependencies"],
        *(each for extra in extras.split() for each in project["optional-dependencies"][extra]),
    ]
    missing = {canonicalize_name(Requirement(each).name) for each in wanted} - set(locked) - {"torch"}
    assert not missing
    assert {package: version for package, version in locked.items() if tested.get(package, version) != version} == {}
