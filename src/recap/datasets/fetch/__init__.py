"""Fetching the benchmarks from their official places: checked, resumable, into the layout that is read."""

from recap.datasets.fetch.run import Fetched, fetch_dataset
from recap.datasets.fetch.sources import OfficialSource, load_sources, source_of

__all__ = ["Fetched", "OfficialSource", "fetch_dataset", "load_sources", "source_of"]
