"""A text with its claims coloured by their verdicts, and the reason of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recap.errors import CONTROLS, printable

if TYPE_CHECKING:
    from recap.policy import Policy
    from recap.texts import TextVerdict

STYLES = {
    "accepted": ("green", "✓"),
    "rejected": ("red", "✗"),
    "corrected": ("magenta", "↺"),
    "cannot-be-told": ("yellow", "?"),
    "unchecked": ("yellow", "?"),
    "uncalibrated": ("yellow", "·"),
    "no-verdict": ("yellow", "–"),
}
"""colour and mark of each verdict"""


def show_text(told: TextVerdict, policy: Policy | None) -> None:
    """On a terminal in colours; elsewhere the marks say the same. What the policy promises is told at the end."""
    from rich.console import Console
    from rich.markup import escape
    from rich.text import Text

    def shown(text: str) -> str:
        return escape(printable(text))

    console = Console(highlight=False)
    whole = Text()
    for piece, word in told.spans():
        whole.append(piece.translate(_CONTROLS), style="" if word is None else f"bold {STYLES[word][0]}")
    console.print(whole)
    for each in told.claims:
        said = f"{each.claim.subject} {each.claim.relation.replace('_', ' ')} {each.claim.object or ''}".strip()
        denied = "not: " if each.claim.answer == "no" else ""
        colour, mark = STYLES[each.word]
        console.print(f"[{colour}]{mark} {each.word.replace('-', ' '):<12}[/]  {shown(denied + said)}")
        console.print(f"    {shown(each.reason)}", style="dim")
    for part in told.unsure:
        console.print(
            f'? not understood  "{shown(told.text[part.start : part.end])}": {shown(part.why)}', style="yellow"
        )
    decided = [each for each in told.claims if each.accepted is not None]
    promises = [each.promise for each in decided if each.promise]
    for promise in dict.fromkeys(promises):
        console.print(f"promise: {shown(promise)}")
    if not promises and decided and policy is not None and policy.guarantee is None:
        console.print(shown(policy.promise))  # that nothing is promised
    if not told.claims:
        console.print("no spatial claim was found, so nothing was audited")


_CONTROLS = {code: sign for code, sign in CONTROLS.items() if chr(code) not in "\t\n\r"} | {ord("\r"): None}
"""the text itself keeps its lines, however they end"""
