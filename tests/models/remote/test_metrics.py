"""The prefix cache's counters, as vLLM writes them."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler

import pytest

from recap.models.remote.vllm import PrefixCache, prefix_cache
from tests.models.remote.server import listening

COUNTERS = """\
# HELP vllm:prefix_cache_queries_total Prefix cache queries, in terms of number of queried tokens.
# TYPE vllm:prefix_cache_queries_total counter
vllm:prefix_cache_queries_total{engine="0",model_name="a {b} \\"c\\""} 1200.0
vllm:prefix_cache_queries_total{engine="1",model_name="a {b} \\"c\\""} 300.0
# HELP vllm:prefix_cache_queries_created Prefix cache queries, in terms of number of queried tokens.
# TYPE vllm:prefix_cache_queries_created gauge
vllm:prefix_cache_queries_created{engine="0",model_name="a {b} \\"c\\""} 1.7e+09
# HELP vllm:prefix_cache_hits_total Prefix cache hits, in terms of number of cached tokens.
# TYPE vllm:prefix_cache_hits_total counter
vllm:prefix_cache_hits_total{engine="0",model_name="a {b} \\"c\\""} 1e+03
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (COUNTERS, PrefixCache(1500.0, 1000.0)),
        (COUNTERS.partition("# HELP vllm:prefix_cache_hits")[0], None),
        ("<html>not metrics</html>", None),
        ("", None),
    ],
)
def test_counters_are_summed_over_engines(text: str, expected: PrefixCache | None) -> None:
    class Metrics(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/metrics" else 404)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    with listening(Metrics) as port:
        assert prefix_cache(f"http://127.0.0.1:{port}/v1") == expected
    assert prefix_cache("http://127.0.0.1:9/v1") is None


def test_the_share_is_of_what_came_since() -> None:
    assert PrefixCache(300, 140).share_since(PrefixCache(100, 40)) == 0.5
    assert PrefixCache(100, 40).share_since(PrefixCache(100, 40)) == 0.0
