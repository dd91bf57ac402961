from __future__ import annotations

from math import nan

from recap.paper.experiment import points, span, tally
from tests.paper.experiments.by_loops import two_models


def test_the_settings_that_miss_are_named() -> None:
    study = two_models().study
    told = tally(study, study.settings, [0.1, 0.0, nan, 0.2])
    assert told == "2 of 4 settings (not in shy on whatsup; no value in eager on vsr)"
    assert tally(study, study.settings, [0.1] * 4) == "4 of 4 settings"
    assert tally(study, study.settings, [-0.1] * 4) == "0 of 4 settings"
    assert tally(study, study.settings[:1], [0.1]) == "1 of 1 setting"
    assert tally(study, study.settings[:1], [nan]) == "0 of 1 setting (no value in shy on vsr)"


def test_differences_are_told_in_points() -> None:
    assert points(0.0123) == "+1.2"
    assert points(-0.0123, 2) == "-1.23"
    assert span([0.012, nan, -0.03]) == "-3.0 to +1.2 points"
    assert span([0.01, 0.01]) == "+1.0 points"
    assert span([nan]) == points(nan) == "no value"
