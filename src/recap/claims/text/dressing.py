"""What dresses a text without being said: quotation marks, Markdown, emoji, signs that are not seen."""

from __future__ import annotations

import re

_QUOTED = re.compile(
    r"\b(?:((?:that )?(?:reads|says)|reading|saying|spelling|stating|label(?:l?ed)|titled|entitled|called|named)"
    r"|says?|said|spells?|states|written|printed|words?|wording|lettering|letters|text|inscription|slogan|message|sign|statement|claim)[:,]?\s+"
    r"(\"[^\"\n]{1,200}\"|“[^”\n]{1,200}”|‘[^’\n]{1,200}’)",
    re.IGNORECASE,
)
"""what can be read in the picture, or is somebody's own words: 'a sign that says "Keep off the grass"' """
_UNSEEN = (
    *range(9), *range(11, 32), 0x7F, 0xAD, *range(0x200B, 0x2010), *range(0x202A, 0x202F), 0x2060,
    *range(0x2066, 0x206A), 0xFEFF,
)  # fmt: skip
_EMOJI = (
    *range(0x2190, 0x2200), *range(0x2600, 0x27C0), *range(0x2B00, 0x2C00), *range(0xFE00, 0xFE10), 0x20E3,
    *range(0x1F000, 0x1FB00),
)  # fmt: skip
_LINES = (0x0B, 0x0C, 0x85, 0x2028, 0x2029)
_SAME_LENGTH: dict[int, str] = {
    **dict.fromkeys((*_UNSEEN, *_EMOJI, *map(ord, '‘“”"*`_#')), " "),
    **dict.fromkeys(_LINES, "\n"),
    ord("’"): "'",
}
"""what only dresses a text (emoji too), or is not seen, becomes a space, so that every place stays where it was"""


def plain(text: str) -> str:
    """The text without what only dresses it, and what it quotes from the picture, character by character."""
    return _QUOTED.sub(_blanked, text).translate(_SAME_LENGTH)


def _blanked(quoted: re.Match[str]) -> str:
    kept = "" if quoted[1] else quoted[0][: -len(quoted[2])]
    return kept.ljust(len(quoted[0]))
