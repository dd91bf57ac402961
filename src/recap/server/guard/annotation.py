"""What the guard adds to an answer: headers, one member, one event; or, where it is told to, another text."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from recap.server.guard.upstream import DONE, UpstreamError, data_of, event_of

LONGEST_REASON = 300
IN_ASCII = str.maketrans({"≤": "<=", "≥": ">=", "−": "-", "–": "-", "—": "-", "…": "...", "’": "'", "“": '"', "”": '"'})


@dataclass(frozen=True)
class Annotation:
    """The guard's verdict on an answer, or why there is none."""

    verdict: str
    """accepted, rejected, corrected (rejected, and the opposite offered), cannot-be-told (likewise not accepted),
    uncalibrated (there is no policy), no-verdict (outside the auditing model's domain), skipped
    (not audited), or pending (a stream has begun)"""
    reason: str
    answer: str | None = None
    accepted: bool | None = None
    risk: float | None = None
    threshold: float | None = None
    mode: str | None = None
    claims: tuple[dict[str, Any], ...] = ()
    """the spatial claims of the answer's sentences, with their places in its text and their verdicts"""
    unsure: tuple[dict[str, Any], ...] = ()
    """parts of the answer that may hold a claim and were passed over, and why"""
    correction: str | None = None
    """the opposite answer, where the policy offers it instead"""

    @property
    def document(self) -> dict[str, Any]:
        """As clients read it; what an answer has none of is left out."""
        return {
            name: value for name, value in vars(self).items() if value or name not in ("claims", "unsure", "correction")
        }

    @property
    def headers(self) -> dict[str, str]:
        return {"x-recap": self.verdict, "x-recap-reason": in_ascii(self.reason)}


def failed(why: str, closed: bool) -> Annotation:
    """An audit that could not be made: the answer passes, or is rejected where the operator wants that."""
    return (
        Annotation("rejected", f"not audited, so rejected: {why}", accepted=False)
        if closed
        else Annotation("skipped", why)
    )


PENDING = Annotation("pending", "the verdict is the last event before [DONE]")


def in_ascii(text: str) -> str:
    """One line that a header can carry: a question may hold any character, and a reason may quote it."""
    letters = unicodedata.normalize("NFKD", " ".join(text.split()).translate(IN_ASCII))
    line = "".join(c if c.isascii() and c.isprintable() else "?" for c in letters if not unicodedata.combining(c))
    return line if len(line) <= LONGEST_REASON else line[: LONGEST_REASON - 3] + "..."


def with_annotation(body: bytes, annotation: Annotation) -> bytes:
    """A completion with one member more; every other byte stays."""
    head = body.rstrip()[:-1].rstrip()
    return head + b', "recap": ' + json.dumps(annotation.document, allow_nan=False).encode() + b"}"


def with_text(body: bytes, text: str) -> bytes:
    """An answer with another text. Of the old one nothing stays, neither its tokens nor what led to it."""
    document = json.loads(body)
    finish = document["choices"][0].get("finish_reason", "stop")
    message = {"role": "assistant", "content": text, "refusal": None}
    document["choices"] = [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}]
    return json.dumps(document).encode()  # in ASCII: half of a surrogate pair has no bytes of its own


def _piece(stamp: dict[str, Any], kind: str, delta: dict[str, str], finish: str | None = None, **more: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return event_of({**stamp, "object": kind, "choices": [choice], **more})


def audit_event(annotation: Annotation, stamp: dict[str, Any]) -> bytes:
    """The verdict as an event: a piece that adds nothing to the text, for clients that look at every piece's choice."""
    return _piece(stamp, "recap.audit", {}, recap=annotation.document)


def rewritten(events: Sequence[bytes], stamp: dict[str, Any], text: str) -> list[bytes]:
    """A whole stream with another text: two pieces for it, then what the old one had besides choices (usage)."""
    kind = "chat.completion.chunk"
    pieces = [_piece(stamp, kind, {"role": "assistant", "content": text}), _piece(stamp, kind, {}, "stop")]
    return pieces + [event for event in events if data_of(event) == DONE or _only_usage(event)]


def error_body(error: UpstreamError) -> dict[str, Any]:
    """An error of ours in the shape that OpenAI's clients read."""
    return {"error": {"message": str(error), "type": "upstream_error", "param": None, "code": error.status}}


def _only_usage(event: bytes) -> bool:
    try:
        document: dict[str, Any] = json.loads(data_of(event))
        return document["choices"] == [] and "usage" in document
    except (ValueError, TypeError, KeyError):
        return False
