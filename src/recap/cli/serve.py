"""`recap serve`: the auditor as a service, with a page."""

from __future__ import annotations

from typing import Annotated

import typer

from recap.cli.options import Attention, Device, Dtype, GraphFile, Plain, PolicyFile, Speaker


def run(
    model: Speaker = None,
    policy: PolicyFile = None,
    host: Annotated[str, typer.Option(help="Address to listen on. Beyond loopback a token is required.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.", min=0, max=65535)] = 8765,
    no_token: Annotated[
        bool, typer.Option("--no-token", help="Serve beyond loopback although $RECAP_TOKEN is not set.")
    ] = False,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Another name this server may be called by, as behind a proxy; may be repeated."
        ),
    ] = None,
    gather: Annotated[
        int, typer.Option(metavar="N", help="How many audits may share a turn of the model.", min=1, max=1024)
    ] = 64,
    upstream: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Guard: pass chat completions on to this server, and audit its answers."),
    ] = None,
    on_reject: Annotated[
        str | None,
        typer.Option(metavar="WHAT", help="Guard: annotate or replace a rejected answer.", show_default="annotate"),
    ] = None,
    reject_text: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Guard: what replaces it.", show_default="a sentence that says so"),
    ] = None,
    upstream_timeout: Annotated[
        float | None,
        typer.Option(
            metavar="S", help="Guard: seconds the upstream may be silent.", show_default="120", min=0.1, max=3600
        ),
    ] = None,
    plain: Plain = False,
    dtype: Dtype = None,
    device: Device = None,
    attention: Attention = None,
    graph: GraphFile = None,
) -> None:
    """Serve audits over HTTP, with a page at /.

    Without --model a small model that comes with the package is served, with its policy. Pictures are taken from the
    request and never fetched, never stored. A token for all requests is read from $RECAP_TOKEN.

    With --upstream it also stands before a server that speaks OpenAI's chat completions: point clients here instead of
    there. The upstream's key, if it wants one, is read from $RECAP_UPSTREAM_KEY.

    \b
    Example: recap serve --model llava-hf/llava-1.5-7b-hf --policy policy.json --port 8765
             curl -s 127.0.0.1:8765/v1/audit -H 'content-type: application/json' \\
               -d '{"image": "world:whatsup/0032", "question": "Is the crate on the suitcase?"}'
             recap serve --model http://gpu:8000/v1 --policy policy.json --upstream http://gpu:8000/v1
    """
    from recap.audit import Auditor
    from recap.claims import load_graph
    from recap.cli.console import notice
    from recap.cli.loading import load_model
    from recap.models.load import default_policy
    from recap.policy import load_policy
    from recap.schemes import DEFAULT_MODEL
    from recap.server.run import serve, service_options
    from recap.server.service import Service

    options = service_options(
        host,
        no_token=no_token,
        allow_host=allow_host or (),
        gather=gather,
        upstream=upstream,
        on_reject=on_reject,
        reject_text=reject_text,
        upstream_timeout=upstream_timeout,
    )
    name = model or DEFAULT_MODEL
    chosen = policy or default_policy(name, graph)
    frozen = None if chosen is None else load_policy(chosen)
    loaded = load_model(name, dtype=dtype, device=device, attention=attention, plain=plain)
    serve(Service(Auditor(loaded, frozen, load_graph(graph)), **options), host, port, notice)
