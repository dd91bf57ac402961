"""What a service is made of: the auditor, its limits, its token, and the server it guards, if there is one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from typing import Literal

from recap.answers import REJECT_TEXT
from recap.audit import Auditor
from recap.routing import BundledAuditor
from recap.server.tokens import DEFAULT_NAME

OnReject = Literal["annotate", "replace"]
OnFailure = Literal["pass", "reject"]
PICTURE_BYTES = 900 << 20
"""what pictures and bodies may take in all by the limits below: 20 bytes for a pixel that is being decoded, 4 for one
that is held, and two copies of a body"""


@dataclass(frozen=True)
class Limits:
    """Every bound in one place. What exceeds one is refused with a 4xx that says which."""

    body_bytes: int = 24 << 20
    image_bytes: int = 12 << 20
    pixels: int = 24_000_000
    """judged by the picture's header, before anything is decoded"""
    question: int = 400
    """characters"""
    batch: int = 64
    """questions in one batch request"""
    pictures: int = 16
    """pictures in one batch request"""
    body_seconds: float = 20.0
    """a body must have arrived by then"""
    waiting: int = 256
    """audits that may wait for their turn; more are answered 503"""
    gather: int = 64
    """audits that share a turn of the model"""
    gather_seconds: float = 0.004
    """how long the first of them waits for others"""
    turn_seconds: float = 120.0
    """after so long in one turn, the model counts as stuck, and /readyz says so"""
    answer_bytes: int = 24 << 20
    """of an upstream's answer that is read whole"""
    upstream_seconds: float = 120.0
    """how long an upstream may be silent"""
    text_bytes: int = 8 << 10
    """of a body that holds no picture"""
    structure: int = 30_000
    """brackets, commas and colons in a body: what costs time is a document's structure, not its length"""
    chat_structure: int = 200_000
    """the same in a chat that the guard reads; beyond it the chat passes unread"""
    bodies_bytes: int = 64 << 20
    """of all bodies that have arrived and are not answered yet"""
    connections: int = 512
    head_seconds: float = 10.0
    """a request's head must have arrived by then"""
    workers: int = 2
    """processes that decode pictures"""
    worker_bytes: int = 768 << 20
    """of each one's address space"""
    decode_seconds: float = 30.0
    """by the clock, for one picture; CPU time is limited by its pixels"""
    small_pixels: int = 500_000
    """a picture of up to so many is decoded as soon as it is read"""
    request_pixels: int = 30_000_000
    """of all pictures of one request together"""
    decoding_pixels: int = 32_000_000
    """of all pictures that are being decoded"""
    held_pixels: int = 48_000_000
    """of all pictures that wait for their audit"""
    ahead: int = 16
    """pictures that the guard may have open before it knows whether there is something to audit"""
    ahead_pixels: int = 16_000_000
    """of all these together; they count among those that are held, and give way to whoever needs the room"""
    ahead_seconds: float = 30.0
    """how long such a picture is kept for an answer that does not end"""
    patience_seconds: float = 10.0
    """how long a request waits for room, before it is answered 503"""

    def within(self, size: int) -> Limits:
        """The same limits, with what is held of pictures and bodies fitted to so many bytes."""
        share = max(0.25, size / PICTURE_BYTES)
        names = ("decoding_pixels", "held_pixels", "ahead_pixels", "bodies_bytes")
        scaled = {name: int(getattr(self, name) * share) for name in names}
        # What the largest single request needs stays, or it could never be answered.
        least = {"decoding_pixels": self.pixels, "held_pixels": self.request_pixels, "bodies_bytes": self.body_bytes}
        return replace(self, **{name: max(value, least.get(name, 0) * 4 // 3) for name, value in scaled.items()})


@dataclass(frozen=True)
class Service:
    """What the routes work with."""

    auditor: Auditor
    limits: Limits = field(default_factory=Limits)
    token: str | None = field(default=None, repr=False)
    tokens: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """more tokens, by the names of those who hold them"""
    rate: float | None = None
    """requests per second of each token, or of each address where there are no tokens"""
    policy_file: Path | None = None
    """read again on HUP"""
    review: Path | None = None
    """the table that labels go to; with it, recent answers are kept for review"""
    log_requests: bool = False
    log_questions: bool = False
    upstream: str | None = None
    """the server that the guard stands before, without its /v1"""
    upstream_key: str | None = field(default=None, repr=False)
    """goes to the upstream in place of whatever a caller sends"""
    on_reject: OnReject = "annotate"
    reject_text: str = REJECT_TEXT
    reject_when: str = "any"
    """which share of an answer's claims must be rejected for the answer to be: any, all, or a number"""
    on_failure: OnFailure | None = None
    """what the guard makes of an answer whose audit could not be made; if None, what `fails_closed` says"""
    claims: str = "rules"
    """who finds the claims of a text: rules, or both they and the model, which is then asked to list them"""
    hosts: frozenset[str] | None = None
    """names under which it may be called; any, if None"""
    allowed_hosts: frozenset[str] = frozenset()
    """further names of ours, as behind a proxy: pages under them may call"""
    leaving: Event = field(default_factory=Event)
    """set when the server was told to stop, and only finishes what it has accepted"""

    @property
    def fails_closed(self) -> bool:
        """Whether an answer that could not be audited is rejected: by default where answers are replaced."""
        return self.on_failure == "reject" or (self.on_failure is None and self.on_reject == "replace")

    @property
    def all_tokens(self) -> dict[str, str]:
        """Every token by its name; none where anybody may call."""
        return {**self.tokens, **({} if self.token is None else {DEFAULT_NAME: self.token})}

    @property
    def model(self) -> str:
        """Who answers, by name; with several, the first of them."""
        return public_name(self.auditor.model.identity.name)

    @property
    def auditors(self) -> dict[str, Auditor]:
        """Everyone who may answer, by name."""
        several = self.auditor.load_all() if isinstance(self.auditor, BundledAuditor) else [self.auditor]
        return {public_name(each.model.identity.name): each for each in several}


def public_name(name: str) -> str:
    """What strangers are told of a model's name: which file or address it came from is nobody's business."""
    return name.rstrip("/").rpartition("/")[2]
