"""The policy file (public contract 3): versioned, self-contained JSON that a person can read."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from recap.errors import RecapError, quoted
from recap.files import reading, write_text
from recap.policy.modes import check_mode
from recap.policy.parts import STAGED
from recap.policy.policy import Policy, needs_relation
from recap.risks import FITTED
from recap.validation import explain

KIND = "recap-policy"
VERSION = 2
READABLE = (1, 2)
"""version 1 has no guarantee"""
CONCLUSIONS = {
    "gate": ("eligible", "verdict"),
    "ranked_on": ("verdict",),
    "utility": ("verdict",),
    "repair": ("before", "after"),
    "undecided": ("verdict",),
    "presupposition": ("statement",),
}
"""what a person finds first in a part; it follows from the rest, and is not read again"""

_POLICY = TypeAdapter(Policy)


def save_policy(policy: Policy, path: str | Path) -> None:
    """Write the policy, whole or not at all."""
    write_text(path, policy_json(policy))


def policy_json(policy: Policy) -> str:
    """The policy as text: the same policy gives the same bytes."""
    head = {"kind": KIND, "version": VERSION, "promise": policy.promise}
    document: dict[str, Any] = head | _POLICY.dump_python(policy, by_alias=True)
    for name, conclusions in CONCLUSIONS.items():
        part = getattr(policy, name)
        if part is not None:
            document[name] = {each: getattr(part, each) for each in conclusions} | document[name]
    for name in ("ranked_on", "fitted", "utility", "existence", "presupposition", "repair", "undecided"):
        if getattr(policy, name) is None:
            del document[name]
    if policy.cdfs.sample is None:
        del document["cdfs"]["sample"]
    text = json.dumps(document, indent=2, allow_nan=False)
    # One line for each list of numbers: a CDF of a thousand values should not bury the rest.
    return re.sub(r"\[\s+([^\[\]{}]*?)\s+\]", lambda m: "[" + re.sub(r"\s+", " ", m.group(1)) + "]", text) + "\n"


def load_policy(path: str | Path) -> Policy:
    """Read a policy file. Whether it fits a graph and a model is checked where it is used."""
    source = Path(path)
    with reading(source, "policy"):
        text = source.read_text("utf-8-sig")
    try:
        return _policy(text)
    except ValidationError as error:
        raise RecapError(f"{source}: {explain(error, 'the policy')}") from None
    except RecapError as error:
        raise RecapError(f"{source}: {error}") from None


def _policy(text: str) -> Policy:
    try:
        document = cast(object, from_json(text))
    except ValueError as error:
        raise RecapError(f"not valid JSON: {error}") from None
    if not isinstance(document, dict):
        raise RecapError("the policy is not a JSON object")
    fields = cast(dict[str, Any], document)
    if fields.pop("kind", KIND) != KIND or not isinstance(fields.get("mode"), str):
        raise RecapError("this is not a RECAP policy file")
    if "version" not in fields:
        raise RecapError('field "version" is missing')
    version = fields.pop("version")
    fields.pop("promise", None)  # what the guarantee says in words
    # Python takes true and 2.0 for the numbers 1 and 2; a file that says so was not written here.
    if type(version) is not int or version not in READABLE:
        told = quoted(json.dumps(version)) if isinstance(version, str) else json.dumps(version)[:40]
        known = " and ".join(map(str, READABLE))
        raise RecapError(f"policy version {told} is not known here; versions {known} are, written as whole numbers")
    for name, conclusions in CONCLUSIONS.items():
        if isinstance(part := fields.get(name), dict):
            fields[name] = {key: value for key, value in cast(dict[str, Any], part).items() if key not in conclusions}
    policy = _POLICY.validate_python(fields)
    try:
        check_mode(policy.mode, fitting=False)
    except RecapError as error:
        raise RecapError(f"mode: {error}") from None
    if (policy.mode in FITTED) != (policy.fitted is not None):
        raise RecapError("fitted: a policy of a fitted mode has this part, and no other does")
    if policy.repair is not None and (policy.repair.risk in FITTED) != (policy.repair.fitted is not None):
        raise RecapError("repair.fitted: a repair by a fitted risk has this part, and no other does")
    if (policy.mode == STAGED) != (policy.staged is not None):
        raise RecapError("staged: a staged policy has this part, and no other does")
    if policy.mode != STAGED and (policy.fallback is None) != (policy.cdfs.branch is None):
        raise RecapError("fallback and cdfs.branch belong together, but one is missing")
    if needs_relation(policy.mode) and policy.cdfs.relation is None:
        raise RecapError(f"cdfs.recap-img is missing, and mode {policy.mode} needs it")
    return policy
