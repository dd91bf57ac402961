"""Policy: calibration CDFs, the threshold, the gate, the fallback, the staged variant, the policy file, drift."""

from recap.policy.calibration import calibrate_table, certify_table, labelled_rows, rank_on
from recap.policy.certify import certify
from recap.policy.decide import Decision, Standing, check_policy, decide
from recap.policy.file import load_policy, policy_json, save_policy
from recap.policy.gate import Gate, confidence_gate
from recap.policy.guarantee import EVENTS, NOTHING_PROMISED, Event, Guarantee, GuaranteedPart
from recap.policy.policy import CONFIDENCE, IMG, SELECTOR, STAGED, Policy, asks_for_things, calibrate
from recap.policy.reason import Witness
from recap.policy.scores import Scores

__all__ = [
    "CONFIDENCE",
    "EVENTS",
    "IMG",
    "NOTHING_PROMISED",
    "SELECTOR",
    "STAGED",
    "Decision",
    "Event",
    "Gate",
    "Guarantee",
    "GuaranteedPart",
    "Policy",
    "Scores",
    "Standing",
    "Witness",
    "asks_for_things",
    "calibrate",
    "calibrate_table",
    "certify",
    "certify_table",
    "check_policy",
    "confidence_gate",
    "decide",
    "labelled_rows",
    "load_policy",
    "policy_json",
    "rank_on",
    "save_policy",
]
