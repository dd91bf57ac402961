"""Every command that the documentation asks a reader to type does what a reader can rely on: it exists, and it works."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import httpx
import pytest
import typer
import yaml
from typer.testing import Result

from recap.cli.main import app
from tests.docs.conftest import recap
from tests.docs.reading import PAGES, ROOT, Command, blocks, commands, inline_commands
from tests.docs.rules import LAYOUTS, OTHERS_OPTIONS, smaller, why_only_parsed, words

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
INLINE = {each for page in PAGES for each in inline_commands(page)}


def once(program: str | None) -> list[Command]:
    """The commands of one program (of all others: None), each where it is met first."""
    found: dict[str, Command] = {}
    for command in commands():
        if command.text.startswith(LAYOUTS):
            continue
        if (command.text.split()[0] == program) if program else (command.text.split()[0] not in CHECKED):
            found.setdefault(" ".join(command.text.split()), command)
    return list(found.values())


CHECKED = ("recap", "make", "pip", "pytest", "python", "curl")


def ids(listed: list[Command]) -> list[str]:
    return [f"{each.place} {each.text[:60]}" for each in listed]


def command_named(argv: list[str]) -> tuple[typer.core.TyperCommand | typer.core.TyperGroup, list[str]]:
    """The command of the real application that these words name, and the words that are left for it."""
    found = typer.main.get_command(app)
    context = typer.Context(found, info_name="recap")  # pyright: ignore[reportArgumentType]
    rest = argv[1:]
    while isinstance(found, typer.core.TyperGroup) and rest and not rest[0].startswith("-"):
        inner = found.get_command(context, rest[0])
        assert inner is not None, f"recap has no command {rest[0]!r}"
        found, rest = inner, rest[1:]
        context = typer.Context(found, parent=context, info_name=argv[1])
    return found, rest


def check_options(argv: list[str]) -> bool:
    """Every option exists, and the real parser takes the command; False where an argument is missing."""
    command, rest = command_named(argv)
    known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    for word in rest:
        if re.match(r"--?[a-z]", word):
            assert word.split("=")[0] in {*known, "--help", "-h"}, f"{word} is not an option of {' '.join(argv[:3])}"
    try:
        command.make_context(argv[1], list(rest))
    except typer.TyperException as error:
        assert type(error).__name__ == "MissingParameter", error.format_message()
        return False
    return True


@lru_cache
def run_once(*argv: str) -> Result:
    """Several pages have the same command, once it is made small."""
    return recap(*argv)


@pytest.mark.parametrize("command", once("recap"), ids=ids(once("recap")))
def test_a_recap_command_runs(command: Command, folder: Path) -> None:
    argv = words(command.text)
    if not check_options(argv):
        # `recap probe` in running text is a name; in a block it is a command to type.
        assert command in INLINE, f"{command.place}: {command.text} lacks an argument"
        return
    if why_only_parsed(argv):
        return
    done = run_once(*smaller(argv)[1:])
    assert done.exit_code == 0, f"{command.place}: {command.text}\n{done.output}\n{done.exception!r}"


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    """`recap serve` in a process of its own, and its address."""
    command = [sys.executable, "-m", *smaller(["recap", "serve"])]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        assert process.stderr is not None
        said = ""
        try:
            while not (address := re.search(r"http://([\w.:]+)", said)):
                line = process.stderr.readline()
                assert line, f"recap serve ended: {said}"
                said += line
            for _ in range(120):  # the address is printed before the model is ready
                with contextlib.suppress(httpx.TransportError):
                    if httpx.get(f"{address[0]}/readyz").status_code == 200:
                        break
                time.sleep(0.5)
            yield address[1]
        finally:
            process.terminate()
            process.stderr.read()


@pytest.mark.parametrize("command", once("curl"), ids=ids(once("curl")))
def test_curl_is_answered_by_the_service(command: Command, service: str) -> None:
    typed = [word.replace("127.0.0.1:8765", service) for word in shlex.split(command.text)]
    answer = json.loads(subprocess.run(typed, capture_output=True, text=True, timeout=60, check=True).stdout)
    assert "error" not in answer, answer


@pytest.mark.parametrize("command", once("make"), ids=ids(once("make")))
def test_make_has_the_target(command: Command) -> None:
    typed = ["make", "--dry-run", *shlex.split(command.text)[1:]]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    done = subprocess.run(typed, cwd=ROOT, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", once("pip"), ids=ids(once("pip")))
def test_pip_installs_this_package_with_extras_that_exist(command: Command) -> None:
    project = PYPROJECT["project"]
    _, verb, wanted = shlex.split(command.text)
    name, _, extras = wanted.partition("[")
    assert (verb, name) == ("install", project["name"])
    assert {each for each in extras.rstrip("]").split(",") if each} <= {*project["optional-dependencies"]}


@pytest.mark.parametrize("command", once("pytest"), ids=ids(once("pytest")))
def test_pytest_is_given_tests_that_exist(command: Command) -> None:
    typed = shlex.split(command.text)[1:]
    markers = {marker.split(":")[0] for marker in PYPROJECT["tool"]["pytest"]["ini_options"]["markers"]}
    for option, value in zip(typed, [*typed[1:], ""], strict=True):
        if option == "-m":
            assert value in markers
    for path in typed:
        if path.startswith("tests"):
            assert (ROOT / path.split("::")[0]).exists(), path


@lru_cache
def _help(*program: str) -> str:
    """What a Python program says of its options; many of them import torch for it."""
    asked = [sys.executable, *program, "--help"]
    return subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True).stdout


@pytest.mark.parametrize("command", once("python"), ids=ids(once("python")))
def test_a_python_program_has_these_options(command: Command) -> None:
    typed = words(command.text)
    program = typed[1:3] if typed[1] == "-m" else typed[1:2]
    told = _help(*program)
    rest = typed[1 + len(program) :]
    for option in rest:
        if option.startswith("--"):
            assert option.split("=")[0] in told
    if choices := re.search(r"\{([\w,]+)\}", told):
        positional = [word for word in rest[:1] if not word.startswith("-")]
        assert set(positional) <= set(choices[1].split(","))


@pytest.mark.parametrize("command", once(None), ids=ids(once(None)))
def test_other_programs(command: Command, folder: Path) -> None:
    argv = shlex.split(command.text)
    if argv[:2] in (["vllm", "serve"], ["ray", "job"]) or argv[0] == "llama-server":
        return  # theirs, and not installed where these tests run; make test-vllm, test-ray and test-llamacpp start the real ones
    assert argv[0] in ("split", "sha256sum"), f"{command.place}: no rule for {command.text!r}"
    subprocess.run(argv, cwd=folder, check=True, timeout=30, capture_output=True)


def test_options_in_the_text_exist() -> None:
    """`--on-reject replace` in a sentence is an option of some command."""
    known = {"--help", *OTHERS_OPTIONS}

    def collect(command: typer.core.TyperCommand | typer.core.TyperGroup) -> None:
        for parameter in command.params:
            known.update(parameter.opts, parameter.secondary_opts)
        if isinstance(command, typer.core.TyperGroup):
            for inner in command.commands.values():
                collect(inner)  # pyright: ignore[reportArgumentType]

    collect(typer.main.get_command(app))
    unknown = [
        f"{page.name}: {option}"
        for page in PAGES
        for span in re.findall(r"`([^`\n]+)`", page.read_text("utf-8"))
        if span.startswith("--")
        for option in re.findall(r"--[a-z][\w-]+", span)
        if option not in known
    ]
    assert not unknown


def test_every_block_has_a_rule() -> None:
    for page in PAGES:
        for block in blocks(page):
            if block.language == "json":
                json.loads(block.text)
            elif block.language == "jsonl":
                assert all(json.loads(line) for line in block.text.splitlines())
            elif block.language == "toml":
                tomllib.loads(block.text)
            elif block.language == "yaml":
                assert yaml.compose(block.text), block.place  # tags of the host's own stay unread
            else:
                # shell: commands of other programs, which tests/integrations runs
                assert block.language in ("python", "indented", "bash", "sh", "shell", "console", "text"), block.place


def test_the_rules_are_alive() -> None:
    """The extraction finds what it should: a page that is read wrongly would make every other test pass."""
    found = {each.text for each in commands()}
    assert len(found) > 60
    assert any(each.startswith("recap probe") for each in found)
    assert why_only_parsed(words("recap audit kitchen.jpg 'Is the mug on the table?' --model MODEL")) is None
