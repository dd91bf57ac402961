"""Checks that nothing is older than the floors in floors.toml: pyproject.toml, constraints.txt, the locks, and what is installed.

`make audit` runs this, and pip-audit against the advisories of today where there is a network.
"""

from __future__ import annotations

import importlib.metadata
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parent.parent


def stated(root: Path) -> Iterator[tuple[str, str, Version | None]]:
    """Where, which package, and the lowest version that is admitted there; None where any is."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    for text in [
        *project["dependencies"],
        *(each for some in project["optional-dependencies"].values() for each in some),
    ]:
        requirement = Requirement(text)
        lowest = [Version(each.version) for each in requirement.specifier if each.operator in (">=", "==", "~=")]
        yield "pyproject.toml", canonicalize_name(requirement.name), max(lowest, default=None)
    for path in (root / "constraints.txt", *sorted((root / "requirements").glob("*.lock"))):
        for name, version in re.findall(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", path.read_text("utf-8"), re.MULTILINE):
            yield path.name, canonicalize_name(name), Version(version)


def installed() -> Iterator[tuple[str, str, Version | None]]:
    for each in importlib.metadata.distributions():
        yield "installed", canonicalize_name(each.metadata["Name"]), Version(each.version)


def problems(root: Path = ROOT, *, environment: bool = True) -> list[str]:
    """One line for each version below its floor, and for each locked package that has no hash."""
    floors = tomllib.loads((root / "requirements" / "floors.toml").read_text("utf-8"))["floors"]
    found: list[str] = []
    for where, name, version in (*stated(root), *(installed() if environment else ())):
        floor = floors.get(name)
        if floor is not None and (version is None or version < Version(floor["version"])):
            found.append(f"{where}: {name} {version or 'of any version'} is below {floor['version']} ({floor['why']})")
    for path in sorted((root / "requirements").glob("*.lock")):
        for block in re.split(r"\n(?=\S)", path.read_text("utf-8")):
            if re.match(r"[A-Za-z0-9]", block) and "--hash=sha256:" not in block:
                found.append(f"{path.name}: {block.split()[0]} has no hash")
    return found


def main() -> None:
    found = problems()
    print("\n".join(found) or "nothing is below its floor, and every locked file has its hash")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
