"""schemathesis: thousands of requests made up from the OpenAPI document, valid, nearly valid and absurd."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.server.running import Running, serving
from tests.server.upstream import Upstream, completion, listening

pytestmark = pytest.mark.server

CASES = 5000
NOT_OURS = "positive_data_acceptance"
"""a schema cannot say that a text is a picture, or a spatial question: such are refused although the schema allows them"""


def press(server: Running, folder: Path, examples: int, *without: str) -> int:
    """Every check on every operation; how many requests that were."""
    command = [sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/v1/openapi.json"]
    options = [
        "--checks",
        "all",
        "--exclude-checks",
        ",".join((NOT_OURS, *without)),
        "--suppress-health-check",
        "all",
        "--no-color",
    ]
    more = ["--max-examples", str(examples), "--continue-on-failure", "--seed", "7", "--generation-database", "none"]
    done = subprocess.run([*command, *options, *more], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert server.alive
    told = httpx.get(f"{server.url}/metrics", timeout=30).text
    assert not re.search(r'recap_refused_total{status="5', told), told
    return int(sum(map(float, re.findall(r"^recap_request_seconds_count{.*} (.*)$", told, re.M))))


def test_no_request_that_can_be_made_up_from_the_document_ends_in_a_5xx(tmp_path: Path) -> None:
    with serving() as server:
        asked = press(server, tmp_path, 650)
    print(f"\n{asked} requests")
    assert asked >= CASES


def test_nor_does_one_to_the_guard(tmp_path: Path) -> None:
    said = json.dumps(completion("Yes.")).encode()
    with (
        listening(Upstream(raw=(200, "application/json", said))) as upstream,
        serving("--model", "world:aligned", "--upstream", f"{upstream.root}/v1") as server,
    ):
        press(server, tmp_path, 100, "negative_data_rejection")  # what is wrong with a chat is the upstream's to say
