"""A small table of results for people: as Markdown, LaTeX, HTML or in a terminal. Programs get CSV or JSON instead."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

from recap.errors import printable

FORMATS = ("csv", "latex", "markdown")
_LATEX = {
    "\\": r"\textbackslash{}",
    **{each: "\\" + each for each in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "−": "$-$",
    "–": "--",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "→": r"$\to$",
    "|": r"\textbar{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}
_MINUS = re.compile(r"(?<![\w.])-(?=[\d.])")
"""a hyphen before a number"""


@dataclass(frozen=True)
class Tabular:
    """Cells as they are read. The first column names the row; the others are figures, to the right."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    """a sentence below it"""
    bold: frozenset[int] = frozenset()
    """rows that stand out"""

    def to_markdown(self) -> str:
        """A pipe table below its title."""

        def line(cells: Sequence[str]) -> str:
            return "| " + " | ".join(_markdown(cell) for cell in cells) + " |"

        body = [
            line([f"**{cell}**" if i in self.bold and cell else cell for cell in row])
            for i, row in enumerate(self.rows)
        ]
        rule = "|---|" + "---:|" * (len(self.columns) - 1)
        parts = ["\n".join([line(self.columns), rule, *body])]
        return "\n\n".join([_markdown(self.title), *parts, *([_markdown(self.note)] if self.note else [])]) + "\n"

    def to_latex(self) -> str:
        """A table with booktabs' rules."""
        body = [
            # What follows the end of a line must not look like its optional argument.
            "{}" * (not self.bold & {i} and row[0].lstrip().startswith(("[", "*")))
            + " & ".join(rf"\textbf{{{_latex(cell)}}}" if i in self.bold else _latex(cell) for cell in row)
            + r" \\"
            for i, row in enumerate(self.rows)
        ]
        caption = ". ".join(filter(None, (self.title.rstrip("."), self.note.rstrip("."))))
        return "\n".join(
            [
                r"\begin{table}[t]",
                r"\centering",
                rf"\caption{{{_latex(caption)}.}}",
                r"\begin{tabular}{l" + "r" * (len(self.columns) - 1) + "}",
                r"\toprule",
                " & ".join(map(_latex, self.columns)) + r" \\",
                r"\midrule",
                *body,
                r"\bottomrule",
                r"\end{tabular}",
                r"\end{table}",
                "",
            ]
        )

    def to_html(self) -> str:
        """A plain table that takes its looks from the notebook around it."""
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)

        def cell(text: str, row: int) -> str:
            told = html.escape(text)
            return f"<td>{f'<b>{told}</b>' if row in self.bold else told}</td>"

        body = "".join("<tr>" + "".join(cell(text, i) for text in row) + "</tr>" for i, row in enumerate(self.rows))
        note = f"<p>{html.escape(self.note)}</p>" if self.note else ""
        return (
            f"<p><b>{html.escape(self.title)}</b></p><table><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table>{note}"
        )


def shown_as(tables: Sequence[Tabular], form: str) -> str:
    """All of them in one of the forms for people: latex or markdown."""
    return "\n".join(each.to_latex() if form == "latex" else each.to_markdown() for each in tables)


def _markdown(text: str) -> str:
    return re.sub(r"([|\\])", r"\\\1", printable(text))


def _latex(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in _MINUS.sub("−", printable(text)))
