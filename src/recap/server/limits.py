"""What a server takes from strangers, and how much of it."""

from __future__ import annotations

from dataclasses import dataclass


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
