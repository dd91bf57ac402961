"""Reading what servers send: nothing is taken for granted, and nothing that is missing is made up."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from recap.errors import did_you_mean
from recap.models.remote.client import Client
from recap.models.remote.contract import TransientError

FLOOR = -9999.0
"""what vLLM writes for a token that cannot come at all"""
ROUNDING = 1e-3
"""probabilities may add up to a little more than one in half precision"""


class Document(BaseModel):
    """A document from a server, as far as we look at it. What is of another kind than expected is no answer."""

    model_config = ConfigDict(extra="ignore", frozen=True, protected_namespaces=())


class ServedModel(Document):
    """One entry of /v1/models."""

    id: str
    root: str | None = None
    max_model_len: int | None = None
    meta: dict[str, Any] | None = None


class Models(Document):
    """/v1/models: what is served."""

    data: list[ServedModel]

    def named(self, client: Client, name: str | None) -> ServedModel:
        known = [each.id for each in self.data]
        if name in known or (name is None and len(known) == 1):
            return self.data[known.index(name or known[0])]
        names = ", ".join(known)
        if name is None:
            raise client.refusal(f"{len(known)} models are served; say which: {client.address}/v1#NAME ({names})")
        raise client.refusal(f'no model "{name}" is served{did_you_mean(name, known)} ({names or "none is"})')


class Tokens(Document):
    """An answer of /tokenize."""

    tokens: list[int]


def lacks_special(bare: list[int], full: list[int], prompt: list[int]) -> bool:
    """Whether a prompt lacks what the tokenizer begins a text with (`full`, but not `bare`, which is the same text)."""
    begins = full[: len(full) - len(bare)] if full[len(full) - len(bare) :] == bare else []
    return bool(begins) and prompt[: len(begins)] != begins


def logprobs_of(pairs: Iterable[tuple[int, float]], asked: Sequence[int]) -> dict[int, float]:
    """The log-probabilities of the asked tokens. Anything else is no answer."""
    given = dict(pairs)
    for token in asked:
        if token not in given:
            raise TransientError(f"the log-probability of token {token} was asked for and did not come")
    logprobs = {token: given[token] for token in asked}
    if not all(math.isfinite(value) and value > FLOOR for value in logprobs.values()):
        raise TransientError("a log-probability is not a number, or the server forbids the answer's tokens")
    if max(logprobs.values()) > ROUNDING or sum(map(math.exp, logprobs.values())) > 1 + ROUNDING:
        raise TransientError(
            "these are not log-probabilities: the server must give them raw (vLLM: --logprobs-mode raw_logprobs)"
        )
    return logprobs
