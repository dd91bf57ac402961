"""A text with its claims coloured by their verdicts, and the reason of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recap.texts import TextVerdict

COLOURS = {"accepted": "green", "rejected": "red", "unchecked": "yellow", "uncalibrated": "yellow"}
MARKS = {"accepted": "✓", "rejected": "✗", "unchecked": "?", "uncalibrated": "·"}


def show_text(told: TextVerdict) -> None:
    """On a terminal in colours; elsewhere the marks say the same."""
    from rich.console import Console
    from rich.markup import escape
    from rich.text import Text

    console = Console(highlight=False)
    shown = Text()
    for piece, word in told.spans():
        shown.append(piece, style="" if word is None else f"bold {COLOURS[word]}")
    console.print(shown)
    for each in told.claims:
        said = f"{each.claim.subject} {each.claim.relation.replace('_', ' ')} {each.claim.object or ''}".strip()
        denied = "not: " if each.claim.answer == "no" else ""
        colour = COLOURS[each.word]
        console.print(f"[{colour}]{MARKS[each.word]} {each.word:<12}[/]  {escape(denied + said)}")
        console.print(f"    {escape(each.reason)}", style="dim")
    for part in told.unsure:
        console.print(
            f'? not understood  "{escape(told.text[part.start : part.end])}": {escape(part.why)}', style="yellow"
        )
    if not told.claims:
        console.print("no spatial claim was found, so nothing was audited")
