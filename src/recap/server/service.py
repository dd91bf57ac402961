"""What a service is made of: the auditor, its limits, its token, and the server it guards, if there is one."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Event
from typing import Literal

from recap.audit import Auditor
from recap.server.limits import Limits

OnReject = Literal["annotate", "replace"]
REJECT_TEXT = "I cannot tell this from the picture with enough certainty."


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
    hosts: frozenset[str] | None = None
    """names under which it may be called; any, if None"""
    leaving: Event = field(default_factory=Event)
    """set when the server was told to stop, and only finishes what it has accepted"""

    @property
    def model(self) -> str:
        """Who answers, by name: which file or address it came from is nobody's business."""
        return self.auditor.model.identity.name.rstrip("/").rpartition("/")[2]
