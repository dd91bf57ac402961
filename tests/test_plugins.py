"""Plugins where none of their hosts is installed: they cost nothing, and are registered as they say."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
HOSTS = ("inspect_ai", "litellm", "lm_eval", "lmms_eval", "lm_polygraph", "mlflow")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def ran(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_service_imports_no_host() -> None:
    told = ran("import sys, recap.server.app; print(*sys.modules)")
    assert not {name.split(".")[0] for name in told.split()} & set(HOSTS)


def test_without_opentelemetry_verdicts_are_not_told_and_nothing_fails() -> None:
    ran("""
import sys
sys.modules["opentelemetry"] = None  # as where it is not installed
from recap.integrations.telemetry import callers_trace, emit_verdict, is_installed
assert not is_installed()
with callers_trace({"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}):
    emit_verdict("accepted", 0.5)
""")


@pytest.mark.parametrize("group", ["inspect_ai", "lmms_eval.models"])
def test_entry_points_name_what_is_there(group: str) -> None:
    for target in PROJECT["entry-points"][group].values():
        module, _, name = target.partition(":")
        source = (ROOT / "src" / Path(*module.split("."))).with_suffix(".py")
        tree = ast.parse(source.read_text("utf-8"))
        named = {
            each.id
            for node in tree.body
            if isinstance(node, ast.Assign)
            for each in node.targets
            if isinstance(each, ast.Name)
        }
        assert not name or name in named, target


def test_every_host_has_an_extra_and_is_pinned_for_its_test() -> None:
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    pinned = {}
    for line in (ROOT / "requirements" / "integrations.txt").read_text("utf-8").splitlines():
        name, equal, version = line.partition("==")
        if equal:
            pinned[canonicalize_name(name)] = version
    for extra in ("inspect", "litellm", "lm-eval", "lmms-eval", "lm-polygraph", "mlflow", "otel"):
        for text in PROJECT["optional-dependencies"][extra]:
            wanted = Requirement(text)
            assert wanted.specifier.contains(pinned[canonicalize_name(wanted.name)]), text
