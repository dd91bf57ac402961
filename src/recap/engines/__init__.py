"""Engines: who answers a probing job, one model in this process or many on a cluster. The table is the same."""

from recap.engines.engine import Engine, Here

__all__ = ["Engine", "Here"]
