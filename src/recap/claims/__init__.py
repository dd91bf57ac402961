"""Claims: what a question or statement asserts, in canonical form, and what the relation graph sets against it."""

from recap.claims.graph import Claim, Graph, Relation
from recap.claims.graph_file import GraphProblem, check_graph, default_graph, load_graph
from recap.claims.lexicon import Lexicon, default_lexicon
from recap.claims.parser import NoRelationError, Statement, parse

__all__ = [
    "Claim",
    "Graph",
    "GraphProblem",
    "Lexicon",
    "NoRelationError",
    "Relation",
    "Statement",
    "check_graph",
    "default_graph",
    "default_lexicon",
    "load_graph",
    "parse",
]
