"""A place in a sentence's row of chunks, and what stands around it."""

from __future__ import annotations

from collections.abc import Sequence

from recap.claims.text.chunks import Chunk, Kind

Things = list[Chunk]
_JOINS = ("comma", "and", "not")
_SURELY_FINITE = frozenset(("VBZ", "VBB", "VBD", "VHZ", "VHB", "VHD", "VM0", "VVZ", "VVB"))
"""not "placed", which may be a participle"""


class Cursor:
    """Reads chunks from left to right. `taken` is the one read last."""

    def __init__(self, items: Sequence[Chunk]) -> None:
        self.items, self.at = items, 0

    def take(self) -> Chunk | None:
        """The next chunk, None at the end."""
        if self.at >= len(self.items):
            return None
        self.at += 1
        return self.items[self.at - 1]

    def peek(self, ahead: int = 0) -> Kind:
        """The kind of a chunk that has not been taken yet."""
        item = self.ahead(ahead)
        return "stop" if item is None else item.kind

    def ahead(self, ahead: int = 0) -> Chunk | None:
        """A chunk that has not been taken yet."""
        place = self.at + ahead
        return self.items[place] if place < len(self.items) else None

    def comes(self, *kinds: Kind) -> bool:
        """Whether chunks of these kinds come next."""
        return all(self.peek(ahead) == kind for ahead, kind in enumerate(kinds))

    def before(self, item: Chunk, *passed: Kind) -> Chunk | None:
        """The chunk before this one, adverbs (and chunks of the kinds `passed`) left out."""
        place = self.items.index(item) - 1
        while place >= 0 and self.items[place].kind in ("other", *passed):
            place -= 1
        return self.items[place] if place >= 0 else None

    def after_list(self) -> Chunk | None:
        """What follows the names that come next."""
        place = self.at
        while place < len(self.items) and self.items[place].kind in ("thing", "comma", "and", "other"):
            place += 1
        return self.items[place] if place < len(self.items) else None

    def shape(self) -> list[Kind]:
        """The kinds of the whole sentence's chunks; adverbs and stops left out."""
        adverb = [c.kind == "other" and c.tokens[0].tag == "AV0" for c in self.items]
        return [c.kind for c, skip in zip(self.items, adverb, strict=True) if c.kind != "stop" and not skip]

    def group(self, first: Chunk, *, open_ended: bool, after_verb: bool = False) -> Things:
        """Things named together with one just taken: "a fork, a knife and a spoon".

        A list that is not open-ended stops before a name with words of its own, which begins another clause. One that
        has had its verb stops before a name with a verb: "there are two donuts, and a cup is beside them".
        """
        group = [first]
        while self.peek() in _JOINS and not self._is(0, "(", ")"):
            skip = 0
            while self.peek(skip) in _JOINS or self._is(skip, "also", "even"):
                skip += 1
            joined = self.items[self.at : self.at + skip]
            more = self.ahead(skip)
            kinds = {c.kind for c in joined}
            if more is None or more.kind != "thing" or ("not" in kinds and not any(c.low == "nor" for c in joined)):
                break
            if not open_ended and (self.peek(skip + 1) in ("verb", "relation", "with") or self._is_sided(skip + 1)):
                break
            if not kinds & {"and", "not"} and not self._listed(skip):
                break
            verb = self.ahead(skip + 1)
            if after_verb and verb is not None and verb.kind == "verb" and verb.tokens[0].tag in _SURELY_FINITE:
                break
            group.append(more)
            self.at += skip + 1
        return group

    def _is_sided(self, ahead: int) -> bool:
        """Whether "to the right" comes there, without a thing that it is right of."""
        to, side = self.ahead(ahead), self.ahead(ahead + 1)
        return to is not None and to.kind == "prep" and side is not None and side.noun in ("left", "right")

    def _is(self, ahead: int, *lows: str) -> bool:
        item = self.ahead(ahead)
        return item is not None and item.low in lows

    def _listed(self, skip: int) -> bool:
        """Whether a list that goes on with a comma ends with an "and"."""
        place = self.at + skip
        while place < len(self.items) and self.items[place].kind in ("thing", "comma"):
            place += 1
        return place < len(self.items) and self.items[place].kind == "and"


def without_asides(items: Sequence[Chunk]) -> tuple[list[Chunk], list[list[Chunk]]]:
    """The chunks without what brackets hold, and that by itself: "the mug (a gift) is …", "a cat (Felix) and a dog".

    What goes on with the sentence stays in it: "the mug (on the tray) is …".
    """
    kept: list[Chunk] = []
    asides: list[list[Chunk]] = []
    aside: list[Chunk] = []
    for item in items:
        if aside or item.low == "(":
            aside.append(item)
        else:
            kept.append(item)
        if aside and item.low == ")":
            opens = next((c.kind for c in aside[1:] if c.kind != "other"), "other")
            if opens == "thing":
                asides.append(aside[1:-1])
            else:
                kept += aside
            aside = []
    return kept + aside, asides
