"""Served models: margins from a server that somebody runs, vLLM above all. Nothing here needs torch.

The model itself is in `recap.models.served.model`: only who asks a server needs an HTTP client.
"""

from recap.models.served.address import is_served

__all__ = ["is_served"]
