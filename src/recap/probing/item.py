"""One statement to be probed: what is said about which image and, if that is known, whether it is true."""

from __future__ import annotations

from dataclasses import dataclass

from recap.claims import Statement


@dataclass(frozen=True)
class Item:
    """A labelled (or not) statement about an image, in its dataset's canonical order."""

    id: str
    dataset: str
    """empty where the statement comes from none"""
    unit: str
    """what is resampled and split whole: a choice group where there is one, else the image"""
    image: str | None
    statement: Statement
    label: str | None
    """yes, no, or None where the truth is unknown"""
    question: str | None = None
    """the direct question in the asker's own words; None asks the relation's template"""
    answer: str | None = None
    """a frozen answer to audit, if the data brings one"""
