"""Which kind of server it is: detected, or named by the user."""

from __future__ import annotations

from recap.errors import RecapError, did_you_mean
from recap.models.remote.client import Client
from recap.models.remote.contract import Backend, RefusedError
from recap.models.remote.llamacpp import LlamaCpp
from recap.models.remote.sglang import Sglang
from recap.models.remote.vllm import Vllm

BACKENDS: dict[str, type[Backend]] = {"llama.cpp": LlamaCpp, "sglang": Sglang, "vllm": Vllm}
"""in the order in which they are tried: the more particular a sign, the earlier"""


async def find_backend(client: Client, name: str | None, server: str | None, template: str | None) -> Backend:
    """The backend for the server at this address."""
    if server is not None and server.lower() not in BACKENDS:
        raise RecapError(f'"{server}" is not a kind of server{did_you_mean(server, BACKENDS)} ({", ".join(BACKENDS)})')
    backend = BACKENDS[server.lower() if server else await _detected(client)](client, name, template)
    client.advice = backend.advice
    return backend


async def _detected(client: Client) -> str:
    for kind, backend in BACKENDS.items():
        try:
            if await backend.detect(client):
                return kind
        except RefusedError as error:
            if " key" in str(error):  # nothing more will be told without one
                raise
    raise client.refusal(
        "it cannot be found out what kind of server this is (it answers neither /version nor /model_info nor /props): "
        f"say it with --server {'|'.join(BACKENDS)}"
    )
