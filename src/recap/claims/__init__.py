"""Claims: what a question or statement asserts, in canonical form, and what the relation graph sets against it."""

from recap.claims.graph import Claim, Graph, Relation
from recap.claims.graph_file import GraphProblem, check_graph, default_graph, extended_graph, load_graph
from recap.claims.lexicon import Lexicon, default_lexicon
from recap.claims.naming import Naming
from recap.claims.parser import NoRelationError, Statement, as_said, parse, parse_existence

__all__ = [
    "Claim",
    "Graph",
    "GraphProblem",
    "Lexicon",
    "Naming",
    "NoRelationError",
    "Relation",
    "Statement",
    "as_said",
    "check_graph",
    "default_graph",
    "default_lexicon",
    "extended_graph",
    "load_graph",
    "parse",
    "parse_existence",
]
