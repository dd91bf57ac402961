"""Claims in free text: captions, sentences, chat answers."""

from recap.claims.text.extract import extract
from recap.claims.text.listing import CLAIM_SOURCES, listed_claims
from recap.claims.text.model import Extraction, TextClaim, Unsure

__all__ = ["CLAIM_SOURCES", "Extraction", "TextClaim", "Unsure", "extract", "listed_claims"]
