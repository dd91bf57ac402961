"""What a vLLM server counts of its prefix cache, from its /metrics."""

from __future__ import annotations

from dataclasses import dataclass

import httpx

from recap.errors import RecapError
from recap.models.remote.address import api_key, is_loopback, parse_address


@dataclass(frozen=True)
class PrefixCache:
    """Prompt tokens that were looked up, and those that were found, since the server started."""

    queries: float
    hits: float

    def share_since(self, before: PrefixCache) -> float:
        """Of the prompt tokens since then, how many came from the cache."""
        queries = self.queries - before.queries
        return (self.hits - before.hits) / queries if queries else 0.0


def prefix_cache(address: str) -> PrefixCache | None:
    """The counters now, over all engines of the server; None where it shows none."""
    try:
        from prometheus_client.parser import text_string_to_metric_families
    except ImportError:
        needs = "its prefix cache is read with pip install 'recap-vlm[server]'"
        raise RecapError(f"prometheus_client is not installed: {needs}") from None
    where, key = parse_address(address), api_key()
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        answer = httpx.get(f"{where.root}/metrics", headers=headers, timeout=10, trust_env=not is_loopback(where))
        answer.raise_for_status()
        families = {family.name: family for family in text_string_to_metric_families(answer.text)}
        queries, hits = (
            sum(sample.value for sample in families[name].samples if sample.name != f"{name}_created")
            for name in ("vllm:prefix_cache_queries", "vllm:prefix_cache_hits")
        )
    except (httpx.HTTPError, ValueError, KeyError):
        return None
    return PrefixCache(queries, hits)
