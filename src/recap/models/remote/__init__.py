"""Served models: margins from a server that somebody runs, vLLM above all. Nothing here needs torch.

The model itself is in `recap.models.remote.model`: only who asks a server needs an HTTP client.
"""

from recap.models.remote.address import is_remote

__all__ = ["is_remote"]
