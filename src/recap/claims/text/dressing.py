"""What dresses a text without being said: quotation marks, HTML, Markdown, emoji, signs that are not seen."""

from __future__ import annotations

import re

_QUOTED = re.compile(
    r"\b(?:((?:that )?(?:reads|says)|reading|saying|spelling|stating|label(?:l?ed)|titled|entitled|called|named)"
    r"|says?|said|spells?|states|written|printed|words?|wording|lettering|letters|text|inscription|slogan|message|sign|statement|claim)[:,]?\s+"
    r"(\"[^\"\n]{1,200}\"|“[^”\n]{1,200}”|‘[^’\n]{1,200}’)",
    re.IGNORECASE,
)
"""what can be read in the picture, or is somebody's own words: 'a sign that says "Keep off the grass"' """
_TAG = re.compile(r"<(?:/?([A-Za-z][\w:-]{0,30})(?:\s[^<>]{0,500})?/?|\|[^<>|]{1,60}\||!--[^<>]{0,500}--)>")
_BLOCKS = frozenset(
    ("p", "br", "div", "li", "ul", "ol", "tr", "td", "th", "table", "hr", "section", "h1", "h2", "h3", "h4", "h5", "h6")
)
"""elements that end a line"""
_LINK = re.compile(r"!?\[([^\[\]\n]{1,200})\]\([^()\s]{0,500}\)")
_ENTITY = re.compile(r"&(?:(amp)|nbsp|quot|ldquo|rdquo|ensp|emsp|#160|#34);", re.IGNORECASE)
_UNSEEN = (
    *range(9), *range(11, 32), 0x7F, 0xAD, *range(0x200B, 0x2010), *range(0x202A, 0x202F), 0x2060,
    *range(0x2066, 0x206A), 0xFEFF,
)  # fmt: skip
EMOJI = (
    *range(0x2190, 0x2200), *range(0x2600, 0x27C0), *range(0x2B00, 0x2C00), *range(0xFE00, 0xFE10), 0x20E3,
    *range(0x1F000, 0x1FB00),
)  # fmt: skip
_LINES = (0x0B, 0x0C, 0x85, 0x2028, 0x2029)
_SAME_LENGTH: dict[int, str] = {
    **dict.fromkeys((*_UNSEEN, *EMOJI, *map(ord, '‘“”"*`_#~')), " "),
    **dict.fromkeys(_LINES, "\n"),
    ord("’"): "'",
}
"""what only dresses a text (emoji too), or is not seen, becomes a space, so that every place stays where it was"""


def plain(text: str) -> str:
    """The text without what only dresses it, and what it quotes from the picture, character by character."""
    for pattern, shown in ((_TAG, _untagged), (_LINK, _unlinked), (_ENTITY, _decoded), (_QUOTED, _blanked)):
        text = pattern.sub(shown, text)
    return text.translate(_SAME_LENGTH)


def _untagged(tag: re.Match[str]) -> str:
    breaks = tag[1] is not None and tag[1].lower() in _BLOCKS
    return ("\n" if breaks else " ").ljust(len(tag[0]))


def _unlinked(link: re.Match[str]) -> str:
    before = link.start(1) - link.start()
    return (" " * before + link[1]).ljust(len(link[0]))


def _decoded(entity: re.Match[str]) -> str:
    return ("&" if entity[1] else " ").ljust(len(entity[0]))


def _blanked(quoted: re.Match[str]) -> str:
    kept = "" if quoted[1] else quoted[0][: -len(quoted[2])]
    return kept.ljust(len(quoted[0]))
