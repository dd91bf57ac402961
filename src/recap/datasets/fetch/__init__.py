"""Fetching the benchmarks from their official places: checked, resumable, into the layout that is read."""

from recap.datasets.fetch.folder import Told
from recap.datasets.fetch.run import Fetched, fetch_dataset
from recap.datasets.fetch.sources import Source, load_sources, source_of

__all__ = ["Fetched", "Source", "Told", "fetch_dataset", "load_sources", "source_of"]
