"""Probing: a job of statements and pictures, asked of a model in batches, every margin kept in the store."""

from recap.probing.job import Entry, Item, ProbingJob, plan_job
from recap.probing.run import Engine, LocalEngine, Margins, ProbeRun, open_engine, rows_of, run_job, small_collections

__all__ = [
    "Engine",
    "Entry",
    "Item",
    "LocalEngine",
    "Margins",
    "ProbeRun",
    "ProbingJob",
    "open_engine",
    "plan_job",
    "rows_of",
    "run_job",
    "small_collections",
]
