"""Speed: models of real shapes with random weights, timed in several ways; a server beside them.

`bench`, `bench_pictures` and `compare_with_server` are what `recap bench`, `recap bench --pictures DIR` and
`recap bench --against URL` print.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recap.errors import RecapError

if TYPE_CHECKING:
    from recap.bench.against import EngineTiming, compare_with_server
    from recap.bench.pictures import PictureBench, bench_pictures
    from recap.bench.run import BenchResult, bench

__all__ = ["BenchResult", "EngineTiming", "PictureBench", "bench", "bench_pictures", "compare_with_server"]


def __getattr__(name: str) -> Any:
    """Loaded when first used: both need torch."""
    if name not in __all__:
        raise AttributeError(f"module 'recap.bench' has no attribute {name!r}")
    try:
        from recap.bench import against, pictures, run
    except ImportError as error:
        raise RecapError(f"{error.name} is not installed: the bench needs pip install 'recap-vlm[local]'") from None
    return next(getattr(room, name) for room in (run, against, pictures) if hasattr(room, name))
