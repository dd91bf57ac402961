"""What a service is made of: the auditor, its limits, its token, and the server it guards, if there is one."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Event
from typing import Literal

from recap.audit import Auditor

OnReject = Literal["annotate", "replace"]
REJECT_TEXT = "I cannot tell this from the picture with enough certainty."


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
    answer_bytes: int = 24 << 20
    """of an upstream's answer that is read whole"""
    upstream_seconds: float = 120.0
    """how long an upstream may be silent"""


@dataclass(frozen=True)
class Service:
    """What the routes work with."""

    auditor: Auditor
    limits: Limits = field(default_factory=Limits)
    token: str | None = field(default=None, repr=False)
    upstream: str | None = None
    """the server that the guard stands before, without its /v1"""
    upstream_key: str | None = field(default=None, repr=False)
    """goes to the upstream in place of whatever a caller sends"""
    on_reject: OnReject = "annotate"
    reject_text: str = REJECT_TEXT
    reject_when: str = "any"
    """which share of an answer's claims must be rejected for the answer to be: any, all, or a number"""
    hosts: frozenset[str] | None = None
    """names under which it may be called; any, if None"""
    leaving: Event = field(default_factory=Event)
    """set when the server was told to stop, and only finishes what it has accepted"""

    @property
    def model(self) -> str:
        """Who answers, by name: which file or address it came from is nobody's business."""
        return self.auditor.model.identity.name.rstrip("/").rpartition("/")[2]
