"""A second bundled model, for tests: its checkpoint lies where `FOLDER` says, and its pictures are tiles."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path()
PICTURE = "A tile"


def checkpoint_folder(name: str) -> Path:
    assert name == "toy:tiles"
    return FOLDER


def policy_file(name: str) -> Path:
    return checkpoint_folder(name) / "record" / "policy.json"
