"""Probing: a job of statements and pictures, asked of a model in batches, every margin kept in the store."""

from recap.probing.engine import Engine, LocalEngine
from recap.probing.job import Asked, Entry, Job, plan_job
from recap.probing.rows import row_of, rows_of
from recap.probing.run import Margins, Ran, run_job

__all__ = [
    "Asked",
    "Engine",
    "Entry",
    "Job",
    "LocalEngine",
    "Margins",
    "Ran",
    "plan_job",
    "row_of",
    "rows_of",
    "run_job",
]
