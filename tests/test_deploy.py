"""The files of deploy/ name real options, and keep what they promise."""

from __future__ import annotations

import re
from pathlib import Path

import typer.main

from recap.cli.main import app

DEPLOY = Path(__file__).parent.parent / "deploy"


def options() -> set[str]:
    command = typer.main.get_command(app).commands["serve"]  # type: ignore[attr-defined]
    return {name for parameter in command.params for name in parameter.opts}


def test_every_option_of_the_service_exists() -> None:
    served = {
        "Dockerfile": re.findall(r'"(--[a-z-]+)"', (DEPLOY / "Dockerfile").read_text().split("ENTRYPOINT")[1]),
        "compose.yaml": re.findall(r"- (--[a-z-]+)=", (DEPLOY / "compose.yaml").read_text()),
        "recap.service": re.findall(
            r" (--[a-z-]+)",
            next(line for line in (DEPLOY / "recap.service").read_text().splitlines() if line.startswith("ExecStart=")),
        ),
    }
    for file, found in served.items():
        assert found, file
        assert set(found) <= options(), file


def test_nobody_is_root_and_nothing_is_written() -> None:
    docker, unit = (DEPLOY / "Dockerfile").read_text(), (DEPLOY / "recap.service").read_text()
    last = docker.split("FROM ")[-1]
    assert re.search(r"^USER 10001", last, re.MULTILINE)
    assert "HEALTHCHECK" in last
    assert "--require-hashes" in docker
    for line in (
        "DynamicUser=yes",
        "ProtectSystem=strict",
        "NoNewPrivileges=yes",
        "CapabilityBoundingSet=",
        "ExecReload=/bin/kill -HUP $MAINPID",
    ):
        assert line in unit.splitlines()
    for copied in re.findall(r"^COPY (?!--from)(.+) \S+$", docker, re.MULTILINE):
        for name in copied.split():
            assert (DEPLOY.parent / name).exists(), name


def test_the_composition_is_confined() -> None:
    import yaml

    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    recap = services["recap"]
    assert recap["read_only"] is True
    assert recap["cap_drop"] == ["ALL"]
    assert all(port.startswith("127.0.0.1:") for port in recap["ports"])
    assert "ports" not in services["vllm"]
