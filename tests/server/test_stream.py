"""A stream of audits and labels through a running service: its own watches stay quiet, or name what has changed."""

from __future__ import annotations

import pytest

pytest.importorskip("fastapi", reason="fastapi is not installed: pip install 'recap-vlm[server]'")

from benchmarks.served_stream import run

pytestmark = pytest.mark.slow


def test_the_service_names_a_broken_promise_and_moved_risks_and_nothing_while_all_is_as_in_calibration() -> None:
    policy, streams = run(120, 80, 240)
    assert "at most 15 % of the accepted answers are wrong" in policy.promise
    quiet, mirrored, yes = streams["as in calibration"], streams["mirrored"], streams["always yes"]
    assert (quiet.breached, quiet.moved) == (None, None)
    assert quiet.accepted > quiet.audits / 2
    # Mirrored pictures look like any others: labels alone tell that the answers about them are wrong.
    assert mirrored.breached is not None
    assert "the risk is larger than the promised 15 %" in mirrored.risk
    assert yes.moved is not None
    assert "risks have moved away from calibration" in yes.drift
