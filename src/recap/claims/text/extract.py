"""From a text to its spatial claims, by rules over words and their parts of speech; no model is asked."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from recap.claims.graph import Graph
from recap.claims.graph_file import default_graph
from recap.claims.naming import SINGULAR
from recap.claims.text.chunks import Chunk
from recap.claims.text.dressing import plain
from recap.claims.text.idioms import is_abstract, is_place
from recap.claims.text.json_text import JsonText
from recap.claims.text.model import EXISTS, Extraction, TextClaim, Unsure
from recap.claims.text.reader import Reader
from recap.claims.text.tokens import sentences
from recap.claims.text.words import text_lexicon, words
from recap.errors import RecapError

_Said = TypeVar("_Said", TextClaim, Unsure)
LONGEST = 1_000_000
"""characters; reading takes about a millisecond for each sentence"""


def extract(text: str, graph: Graph | None = None, *, exists: bool = False) -> Extraction:
    """The spatial claims of a text in order, and what may be one and was not understood.

    `exists` adds a claim for every thing that the text says or supposes to be in the picture.

    >>> [(c.subject, c.relation, c.object) for c in extract("A mug and a plate are on the table.").claims]
    [('mug', 'on', 'table'), ('plate', 'on', 'table')]
    """
    if len(text) > LONGEST:
        raise RecapError(f"the text has {len(text):,} characters; at most {LONGEST:,} are read")
    known = graph or default_graph()
    document = JsonText.of(text)
    said = text if document is None else document.text
    reader = Reader(said, plain(said), text_lexicon(known.lexicon), frozenset(known.relations))
    for sentence in sentences(said):
        reader.read(sentence)
    claims = list(dict.fromkeys(reader.claims))
    if exists:
        claims += _existence(reader)
    ordered = tuple(sorted(claims, key=lambda c: (c.start, c.end, c.kind)))
    unsure = tuple(dict.fromkeys(reader.unsure))
    if document is not None:
        ordered, unsure = _placed(ordered, document), _placed(unsure, document)
    return Extraction(text, ordered, unsure)


def _placed(said: tuple[_Said, ...], document: JsonText) -> tuple[_Said, ...]:
    """The same with their places in the document."""
    places = [document.place(each.start, each.end) for each in said]
    return tuple(replace(each, start=start, end=end) for each, (start, end) in zip(said, places, strict=True))


def _existence(reader: Reader) -> list[TextClaim]:
    """One claim for each thing, where it is first named. What the text says is there outweighs that it is not."""
    things = {thing.name.lower(): (thing, "no") for thing in reversed(reader.absent)}
    things |= {thing.name.lower(): (thing, "yes") for thing in reversed(reader.supposed)}
    return [
        TextClaim(
            "exists", thing.name, EXISTS, None, "no" if answer == "no" else "yes", thing.start, thing.end, "", False,
            (thing.naming, SINGULAR),
        )
        for thing, answer in things.values()
        if _visible(thing)
    ]  # fmt: skip


def _visible(thing: Chunk) -> bool:
    vague = thing.noun in words()["modes.vague"] or "pronoun" in thing.marks
    return not (vague or is_place(thing) or is_abstract(thing) or thing.among("things.body"))
