"""The store: margins on disk, content-addressed, crash-safe, resumable."""

from recap.store.keys import margin_key, pixels_digest
from recap.store.store import Store

__all__ = ["Store", "margin_key", "pixels_digest"]
