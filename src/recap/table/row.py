"""One row of a margin table (public contract 1), validated at the edge: what is wrong is named by field."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, StringConstraints, ValidationError

from recap.claims import Graph
from recap.errors import RecapError, did_you_mean, quoted
from recap.validation import explain, refuse_near_misses

CHANNELS = ("image", "text", "degraded", "flipped")
LARGEST = 1e9
"""No log-probability comes near; larger numbers would overflow in sums and say nothing."""

_SURROGATE = re.compile("[\ud800-\udfff]")

Answer = Literal["yes", "no"]
Name = Annotated[str, StringConstraints(min_length=1)]
Margin = Annotated[FiniteFloat, Field(ge=-LARGEST, le=LARGEST)]


class _Part(BaseModel):
    # A table from elsewhere may carry columns of its own; a near miss of one of ours is an error.
    model_config = ConfigDict(extra="allow", strict=True, frozen=True)


class Direct(_Part):
    """Margins of the direct question: on the image, without it, and in other words."""

    image: Margin | None = None
    text: Margin | None = None
    paraphrases: Annotated[list[Margin], Field(min_length=1)] | None = None
    ca_bidirectional: Margin | None = None
    ca_combined: Margin | None = None


class Row(_Part):
    """A statement about an image, with every margin that was measured for it."""

    id: Name
    dataset: str | None = None
    unit: str = ""
    image: str | None = None
    subject: str = ""
    relation: Name
    object: str = ""
    label: Answer | None = None
    claim: str | None = None
    swapped: bool = False
    answer: Answer | None = None
    model: str | None = None
    """identity of the model that gave the margins, if known"""
    direct: Direct = Direct()
    margins: dict[str, dict[str, Margin | None] | None] = {}

    @property
    def says_yes(self) -> bool:
        """The audited answer: the frozen one where it is given, else yes iff the direct margin is ≥ 0."""
        if self.answer is not None:
            return self.answer == "yes"
        return self.direct.image is not None and self.direct.image >= 0

    def margin(self, channel: str, relation: str) -> float | None:
        """The margin of a canonical-side relation in a channel, if it was measured."""
        return (self.margins.get(channel) or {}).get(relation)


def row_from_fields(fields: bytes | dict[str, Any], graph: Graph) -> Row:
    """A row from one line of JSON or a mapping, its unit and claim filled in, if it makes sense beside the graph.

    Raises a RecapError that names the field (the caller adds file and line).
    """
    if isinstance(fields, dict):  # a JSON parser has its own word on them
        _refuse_surrogates(fields)
    try:
        row = Row.model_validate_json(fields) if isinstance(fields, bytes) else Row.model_validate(fields)
    except ValidationError as error:
        raise RecapError(explain(error)) from None
    refuse_near_misses(row)
    refuse_near_misses(row.direct, "direct.")
    if row.answer is None and row.direct.image is None:
        raise RecapError(f"{quoted(row.id)}: direct.image is missing, and no answer is given in its place")
    known = graph.relations.keys() | graph.lexicon.families.keys()
    for channel, margins in row.margins.items():
        if channel not in CHANNELS:
            hint = did_you_mean(channel, CHANNELS)
            raise RecapError(f"{quoted(row.id)}: margins.{channel} is not a channel ({', '.join(CHANNELS)}){hint}")
        for relation in margins or {}:
            if relation not in known:
                hint = did_you_mean(relation, graph.relations)
                raise RecapError(f'{quoted(row.id)}: margins.{channel}: unknown relation "{relation}"{hint}')
    unit = row.unit or row.image
    if not unit:
        raise RecapError(f"{quoted(row.id)}: unit is missing, and there is no image to stand in for it")
    claim, swapped = _canonical(row, graph)
    return row.model_copy(update={"unit": unit, "claim": claim, "swapped": swapped})


def _refuse_surrogates(value: Any, path: str = "") -> None:
    """Half of a surrogate pair is no character: no file can hold it, and nobody could read the table again."""
    if isinstance(value, str):
        if not value.isascii() and _SURROGATE.search(value):
            raise RecapError(f"{path} holds half of a surrogate pair, which is no character")
    elif isinstance(value, dict):
        for name, each in cast(dict[str, Any], value).items():
            _refuse_surrogates(name, "the name of a column")
            _refuse_surrogates(each, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for each in cast(list[Any], value):
            _refuse_surrogates(each, path)


def _canonical(row: Row, graph: Graph) -> tuple[str | None, bool]:
    """The claim and its swap, derived from the relation; what the row states itself must agree."""
    stated = row.model_fields_set
    if row.relation not in graph:
        if row.claim is not None or ("claim" not in stated and row.relation not in graph.lexicon.families):
            hint = did_you_mean(row.relation, graph.relations)
            raise RecapError(
                f'{quoted(row.id)}: relation: unknown relation "{row.relation}"{hint} '
                "(a relation outside the graph has claim null)"
            )
        return None, False
    claim, swapped = graph.canonical(row.relation)
    if "claim" in stated and row.claim != claim:
        if row.claim is not None and row.claim not in graph:
            raise RecapError(
                f'{quoted(row.id)}: claim: unknown relation "{row.claim}"{did_you_mean(row.claim, graph.relations)}'
            )
        raise RecapError(f"{quoted(row.id)}: claim is {row.claim or 'null'}, but {row.relation} is audited as {claim}")
    if "swapped" in stated and row.swapped != swapped:
        raise RecapError(
            f"{quoted(row.id)}: swapped is {str(row.swapped).lower()}, but {row.relation} becomes {claim} "
            f"{'with' if swapped else 'without'} swapping the objects"
        )
    return claim, swapped
