"""Probing: a job of statements and pictures, asked of a model in batches, every margin kept in the store."""

from recap.probing.engine import Engine, LocalEngine, open_engine
from recap.probing.item import Item
from recap.probing.job import Entry, Job, plan_job
from recap.probing.rows import rows_of
from recap.probing.run import Margins, ProbeRun, run_job

__all__ = [
    "Engine",
    "Entry",
    "Item",
    "Job",
    "LocalEngine",
    "Margins",
    "ProbeRun",
    "open_engine",
    "plan_job",
    "rows_of",
    "run_job",
]
