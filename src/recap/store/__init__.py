"""The store: margins on disk, content-addressed, crash-safe, resumable."""

from recap.store.store import Store, margin_key, pixels_digest

__all__ = ["Store", "margin_key", "pixels_digest"]
