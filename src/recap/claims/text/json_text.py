"""A text that is a JSON document: its strings as sentences, and where each of their letters stands in the document."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

_FENCED = re.compile(r"```(?:json)?(.*)```", re.DOTALL | re.IGNORECASE)
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"(\s*:)?', re.DOTALL)
_LETTER = re.compile(r"\\u[dD][89abAB]\w\w\\u\w{4}|\\u\w{4}|\\.|.", re.DOTALL)


@dataclass(frozen=True)
class JsonText:
    """The strings of a document, each a line of its own; a key stands before its value, with a colon."""

    text: str
    places: tuple[tuple[int, int], ...]
    """where each letter of `text` begins and ends in the document"""

    @classmethod
    def of(cls, text: str) -> JsonText | None:
        """None where the text is no JSON document.

        >>> JsonText.of('{"cat": "isn\\\\u2019t on\\\\nthe sofa"}').text
        '\\ncat: isn’t on\\nthe sofa\\n'
        """
        fenced = _FENCED.fullmatch(text.strip())
        bare = (fenced[1] if fenced else text).strip()
        if bare[:1] not in ("{", "["):
            return None
        try:
            json.loads(bare)
        except (ValueError, RecursionError):
            return None
        start = text.index(bare)
        letters: list[str] = []
        places: list[tuple[int, int]] = []

        def add(letter: str, start: int, end: int) -> None:
            letters.append(letter)
            places.append((start, end))

        for string in _STRING.finditer(text, start, start + len(bare)):
            key = string[2] is not None
            if key:
                add("\n", string.start(), string.start() + 1)
            for each in _LETTER.finditer(text, *string.span(1)):
                decoded = each[0] if len(each[0]) == 1 else json.loads(f'"{each[0]}"')
                for letter in decoded:
                    add(letter, each.start(), each.end())
            for letter in ": " if key else "\n":
                add(letter, string.end() - 1, string.end())
        return cls("".join(letters), tuple(places))

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Where a part of `text` stands in the document."""
        return self.places[start][0], self.places[end - 1][1]
