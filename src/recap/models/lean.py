# torch types its own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""A short start for a process that asks a bundled checkpoint once: transformers without the parts that it will not use.

transformers' LLaVA classes bring along the compiler, sharding over machines, SymPy and SciPy, and transformers reads
all of its own files to know its model families: more work than the audit itself. It also runs where these are absent.
Here it is imported as if they were; the classes that compute are the same, and so is every margin.

What is hidden stays hidden from transformers for the rest of the process: this is for a command that ends with its
answer, never for somebody's program.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import importlib.metadata
import importlib.util
import os
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

HIDDEN = ("accelerate", "librosa", "pandas", "scipy", "sklearn", "soundfile")
"""packages that transformers imports where they are installed, for losses, sharding, sound and plots"""
FAMILIES = ("auto", "clip", "dinov2", "llama", "llava", "resnet")
"""transformers' models that bundled checkpoints are made of"""
WANTED = (
    "transformers.models.auto.processing_auto",
    "transformers.models.clip.modeling_clip",
    "transformers.models.llama.modeling_llama",
    "transformers.models.llava.modeling_llava",
    "transformers.models.llava.processing_llava",
)
META = "torch._meta_registrations"
"""shapes of every operation's result, in Python: for tensors without values, which are not used here"""
LIBRARY = "libtorch_cpu.so"
COMPILER, TRACING = "torch._dynamo", "torch._dynamo._trace_wrapped_higher_order_op"
"""modules of the compiler of which transformers wants something when it is imported"""


@contextlib.contextmanager
def without_collecting() -> Generator[None]:
    """Imports make a million objects that stay: looking for garbage among them takes a fifth of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def preload_library() -> None:
    """Let the system load torch's library in a thread, on the second core, while this one imports other things.

    A quarter of `import torch` is spent there, and a call through ctypes holds no lock of Python's.
    """
    found = None if "torch" in sys.modules else importlib.util.find_spec("torch")
    folder = None if found is None or found.origin is None else Path(found.origin).parent / "lib"
    if folder is None or not (folder / LIBRARY).is_file() or (folder / "libtorch_cuda.so").exists():
        return
    with contextlib.suppress(AttributeError, OSError):  # a system whose C library does not offer it
        load = ctypes.CDLL(None).dlopen
        path = os.fsencode(folder / LIBRARY)
        threading.Thread(target=load, args=(path, os.RTLD_LAZY), daemon=True).start()


def import_lean() -> bool:
    """Import what a bundled checkpoint needs of transformers, and little else; whether that was done.

    Where something is not as expected transformers is forgotten, and whoever needs it imports it as usual.
    """
    if "transformers" in sys.modules or importlib.util.find_spec("transformers") is None:
        return False
    try:
        with _stubbed({} if "torch" in sys.modules else {META: ModuleType(META)}):
            import torch
    except ImportError:
        return False  # whoever loads a model says what is missing
    if torch.cuda.is_available():
        _complete()
        return False
    if "OMP_NUM_THREADS" not in os.environ:
        # A forward of a fifth of a second gains nothing from a second thread, and where another program has a core at
        # the same time the two wait for each other at every operation: up to six seconds were seen.
        torch.set_num_threads(1)
    try:
        with without_collecting(), _lean(torch):
            for name in WANTED:
                importlib.import_module(name)
        _made_in_place(torch)
        _checked_without_algebra(torch)
    except Exception:
        for name in [name for name in sys.modules if name.partition(".")[0] == "transformers"]:
            del sys.modules[name]
        _complete()
        return False
    return True


def _complete() -> None:
    """What was kept from torch, where this torch has it."""
    with contextlib.suppress(ImportError):
        importlib.import_module(META)


def _made_in_place(torch: Any) -> None:
    """Let transformers make models where they will be, with no weight drawn, as it does beside DeepSpeed.

    It makes them on the meta device, whose operations are written in Python and import the compiler.
    """
    from transformers import initialization, modeling_utils

    unmade = initialization.no_init_weights
    known: Any = modeling_utils.PreTrainedModel.get_init_context.__func__  # pyright: ignore[reportFunctionMemberAccess]

    def contexts(kind: Any, *given: Any, **named: Any) -> list[Any]:
        kept = [each for each in known(kind, *given, **named) if not isinstance(each, torch.device)]
        return [*kept, unmade()]

    modeling_utils.PreTrainedModel.get_init_context = classmethod(contexts)  # pyright: ignore[reportAttributeAccessIssue]


def _checked_without_algebra(torch: Any) -> None:
    """A check that holds needs no computer algebra, which torch imports before it looks."""
    check = torch._check_with

    def stand_in(error: Any, holds: Any, message: Any) -> None:
        if holds is not True:
            check(error, holds, message)

    torch._check_with = stand_in


@contextlib.contextmanager
def _lean(torch: Any) -> Generator[None]:
    """While transformers is imported: no sharding, no compiler, few families, and HIDDEN packages are absent."""
    stubs = {} if COMPILER in sys.modules else _compiler_stubs()
    with (
        _instead(torch.distributed, "is_available", lambda: False),
        _instead(torch.compiler, "disable", _mark),
        _instead(importlib.util, "find_spec", _hiding(importlib.util.find_spec)),
        _instead(importlib.metadata, "packages_distributions", Distributions),
        _instead(os, "scandir", _few_families(os.scandir)),
        _stubbed(stubs),
    ):
        yield


@contextlib.contextmanager
def _stubbed(stubs: dict[str, ModuleType]) -> Generator[None]:
    """These modules in the place of the real ones, which can be imported afterwards."""
    sys.modules.update(stubs)
    try:
        yield
    finally:
        for name, stub in stubs.items():
            if sys.modules.get(name) is stub:
                del sys.modules[name]


@contextlib.contextmanager
def _instead(owner: Any, name: str, stand_in: Any) -> Generator[None]:
    kept = getattr(owner, name)
    setattr(owner, name, stand_in)
    try:
        yield
    finally:
        setattr(owner, name, kept)


def _compiler_stubs() -> dict[str, ModuleType]:
    """The compiler's marks, which only it would read, and its one class that is used without it, deferred."""
    compiler: Any = ModuleType(COMPILER)
    tracing: Any = ModuleType(TRACING)

    def part(name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return _mark

    def deferred(*given: Any, **named: Any) -> Any:
        return importlib.import_module(TRACING).TransformGetItemToIndex(*given, **named)

    compiler.__path__ = []
    compiler.__getattr__, tracing.TransformGetItemToIndex = part, deferred
    return {COMPILER: compiler, TRACING: tracing}


def _mark(fn: Any = None, *_: Any, **__: Any) -> Any:
    """A decorator of the compiler's in a process that compiles nothing."""
    return _mark if fn is None else fn


def _hiding(find_spec: Callable[..., Any]) -> Callable[..., Any]:
    def stand_in(name: str, package: str | None = None) -> Any:
        return None if name.partition(".")[0] in HIDDEN else find_spec(name, package)

    return stand_in


class Distributions(dict[str, list[str]]):
    """`importlib.metadata.packages_distributions()`, read only for packages that are not called like their module."""

    def get(self, name: str, default: Any = None) -> Any:
        """The distributions that bring a module."""
        if importlib.util.find_spec(name.partition(".")[0]) is None:
            return default
        try:
            importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            self.update(self or importlib.metadata.packages_distributions())
            return super().get(name, default)
        return [name]


class _Few:
    """Some of a folder's entries, as `os.scandir` gives them."""

    def __init__(self, entries: Any) -> None:
        self.entries = entries

    def __enter__(self) -> Iterator[Any]:
        return (entry for entry in self.entries if entry.name in FAMILIES)

    def __exit__(self, *_: object) -> None:
        self.entries.close()


def _few_families(scandir: Callable[..., Any]) -> Callable[..., Any]:
    """transformers reads every file below its `models` to know who defines what."""
    families = os.path.join("transformers", "models")  # noqa: PTH118

    def stand_in(path: Any = ".") -> Any:
        entries = scandir(path)
        return _Few(entries) if str(path).endswith(families) else entries

    return stand_in
