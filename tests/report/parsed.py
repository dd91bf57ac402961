"""A page as its reader finds it."""

from __future__ import annotations

import html.parser


class ParsedPage(html.parser.HTMLParser):
    """Checks nesting while it reads, and keeps what the tests ask about."""

    VOID = frozenset(
        ("meta", "img", "br", "link", "input", "hr", "line", "rect", "circle", "path", "polyline", "polygon")
    )

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        values = dict(attrs)
        assert len(values) == len(attrs), tag
        self.ids += [value for name, value in attrs if name == "id" and value]
        self.links += [value for name, value in attrs if name in ("src", "href", "xlink:href") and value]
        if tag == "th":
            assert values.get("scope") in ("col", "row", "colgroup", "rowgroup")
        if tag == "img":
            assert values.get("alt")
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.text += data
