"""What the documentation asks a reader to type: commands and snippets, with the page and line each stands on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]

PROGRAMS = {"recap", "make", "pip", "pytest", "python", "vllm", "curl", "split", "sha256sum", "ray", "docker", "uv"}
"""an inline code span is a command where it begins with one of these and has an argument"""


@dataclass(frozen=True)
class Block:
    """A fenced or indented block."""

    page: str
    line: int
    language: str
    """a fence's language; `indented` for indented blocks"""
    text: str

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"


@dataclass(frozen=True)
class Command:
    page: str
    line: int
    text: str

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    """All fenced and indented blocks of a page. Text in a list is indented too, but follows no blank line at four spaces."""
    name = str(page.relative_to(ROOT))
    lines = page.read_text("utf-8").splitlines()
    at = 0
    while at < len(lines):
        fence = re.match(r"```(\w*)", lines[at])
        start = at + 1
        if fence:
            end = next(i for i in range(start, len(lines)) if lines[i].startswith("```"))
            yield Block(name, start + 1, fence[1], "\n".join(lines[start:end]))
            at = end + 1
        elif lines[at].startswith("    ") and (at == 0 or not lines[at - 1].strip()):
            end = at
            while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
                end += 1
            yield Block(name, at + 1, "indented", "\n".join(line[4:] for line in lines[at:end]).rstrip())
            at = end
        else:
            at += 1


def prose(page: Path) -> Iterator[tuple[int, str]]:
    """The lines outside all blocks, numbered."""
    taken: set[int] = set()
    for block in blocks(page):
        taken |= set(range(block.line, block.line + block.text.count("\n") + 1))
    for number, line in enumerate(page.read_text("utf-8").splitlines(), start=1):
        if number not in taken and not line.startswith("```"):
            yield number, line


def block_commands(block: Block) -> Iterator[Command]:
    """A block's lines, joined where they end in a backslash, cut at semicolons, without comments."""
    whole = ""
    first = block.line
    for number, line in enumerate(block.text.splitlines(), start=block.line):
        first = first if whole else number
        if line.rstrip().endswith("\\"):
            whole += line.rstrip()[:-1] + " "
            continue
        text, whole = re.sub(r"(^|\s)#( .*)?$", "", whole + line).strip(), ""
        yield from (Command(block.page, first, each.strip()) for each in text.split(";") if each.strip())


def inline_commands(page: Path) -> Iterator[Command]:
    """Code spans in prose and table cells that are commands with arguments."""
    for number, line in prose(page):
        for span in re.findall(r"`([^`]+)`", line):
            program, _, rest = span.partition(" ")
            if program in PROGRAMS and rest.strip():
                yield Command(str(page.relative_to(ROOT)), number, span.replace("\\|", "|"))


def commands() -> list[Command]:
    """Every command of every page."""
    found: list[Command] = []
    for page in PAGES:
        for block in blocks(page):
            if block.language in ("indented", "bash", "sh", "console"):
                found += block_commands(block)
        found += inline_commands(page)
    return found


def snippets() -> list[Block]:
    """Every Python snippet."""
    return [block for page in PAGES for block in blocks(page) if block.language == "python"]
