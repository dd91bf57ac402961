"""What a vLLM server counts of its prefix cache, from its /metrics."""

from __future__ import annotations

import re
from dataclasses import dataclass

import httpx

from recap.models.remote.address import api_key, is_loopback, parse_address

COUNTER = r"^vllm:prefix_cache_{}(?:_total)?(?:\{{[^}}]*\}})? (\S+)$"


@dataclass(frozen=True)
class PrefixCache:
    """Prompt tokens that were looked up, and those that were found, since the server started."""

    queries: float
    hits: float

    def since(self, before: PrefixCache) -> PrefixCache:
        """What happened in between."""
        return PrefixCache(self.queries - before.queries, self.hits - before.hits)

    @property
    def share(self) -> float:
        """Of the prompt tokens, how many came from the cache."""
        return self.hits / self.queries if self.queries else 0.0


def prefix_cache(address: str) -> PrefixCache | None:
    """The counters now; None where the server shows none."""
    where, key = parse_address(address), api_key()
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        answer = httpx.get(f"{where.root}/metrics", headers=headers, timeout=10, trust_env=not is_loopback(where))
    except httpx.HTTPError:
        return None
    found = [_sum(answer.text, name) for name in ("queries", "hits")] if answer.status_code == 200 else [None, None]
    return None if found[0] is None or found[1] is None else PrefixCache(found[0], found[1])


def _sum(text: str, name: str) -> float | None:
    """A counter over all engines of the server."""
    values = [float(value) for value in re.findall(COUNTER.format(name), text, re.MULTILINE)]
    return sum(values) if values else None
