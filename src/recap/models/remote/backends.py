"""Which kind of server it is: found out by asking, or said by the user."""

from __future__ import annotations

from recap.errors import RecapError, did_you_mean
from recap.models.remote.client import Wire
from recap.models.remote.contract import Backend, RefusedError
from recap.models.remote.llamacpp import LlamaCpp
from recap.models.remote.sglang import Sglang
from recap.models.remote.vllm import Vllm

KINDS = {"llama.cpp": LlamaCpp, "sglang": Sglang, "vllm": Vllm}
"""in the order in which they are tried: the more particular a sign, the earlier"""


async def find_backend(wire: Wire, name: str | None, server: str | None, template: str | None) -> Backend:
    """The backend for what stands at the other end."""
    if server is not None and server.lower() not in KINDS:
        raise RecapError(f'"{server}" is not a kind of server{did_you_mean(server, KINDS)} ({", ".join(KINDS)})')
    kind = server.lower() if server else await _found_out(wire)
    backend = Sglang(wire, name, template) if kind == "sglang" else KINDS[kind](wire, name)
    wire.advice = backend.advice
    return backend


async def _found_out(wire: Wire) -> str:
    for kind, backend in KINDS.items():
        try:
            if await backend.here(wire):
                return kind
        except RefusedError as error:
            if " key" in str(error):  # nothing more will be told without one
                raise
    raise RecapError(
        f"{wire.address}: it cannot be found out what kind of server this is (it answers neither /version nor "
        f"/model_info nor /props): say it with --server {'|'.join(KINDS)}"
    )
