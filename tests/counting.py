"""How often real functions are called, in every thread that starts meanwhile."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def counting(*functions: Callable[..., Any]) -> Generator[Counter[str]]:
    """The calls so far, by name; whoever calls them, and under whatever name it imported them."""
    codes = {function.__code__: function.__name__ for function in functions}
    calls: Counter[str] = Counter()

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code in codes:
            calls[codes[frame.f_code]] += 1

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield calls
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
