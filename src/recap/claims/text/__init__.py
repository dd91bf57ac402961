"""Claims in free text: captions, sentences, chat answers."""

from recap.claims.text.extract import extract
from recap.claims.text.model import Extraction, TextClaim, Unsure

__all__ = ["Extraction", "TextClaim", "Unsure", "extract"]
