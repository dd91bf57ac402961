"""`recap serve`: the auditor as a service, with a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from recap.cli import options as opt
from recap.cli.console import load_auditor, notice
from recap.errors import RecapError, one_of


def run(
    model: opt.ModelOrDefault = None,
    policy: opt.PolicyFile = None,
    any_model: opt.AnyModel = False,
    any_picture: opt.AnyPicture = False,
    host: Annotated[str, typer.Option(help="Address to listen on. Beyond loopback a token is required.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.", min=0, max=65535)] = 8765,
    no_token: Annotated[
        bool, typer.Option("--no-token", help="Serve beyond loopback although $RECAP_TOKEN is not set.")
    ] = False,
    allow_host: Annotated[
        list[str] | None,
        opt.option("NAME", "Another name this server may be called by, as behind a proxy; may be repeated."),
    ] = None,
    tokens: Annotated[
        Path | None, opt.option("FILE", "Tokens by name: lines of NAME TOKEN. $RECAP_TOKEN is another one.", "none")
    ] = None,
    rate: Annotated[
        float | None, opt.option("N", "Requests per second of each token (or address).", "unlimited", min=0.01)
    ] = None,
    review: Annotated[
        Path | None,
        opt.option("TABLE", "Keep recent answers for GET /v1/review; labels sent back are added to TABLE.", "none"),
    ] = None,
    log: Annotated[str, opt.option("WHAT", "json: a line per request; questions: with what was asked.")] = "off",
    connections: Annotated[int | None, opt.option("N", "Connections at once.", "512", min=8, max=65536)] = None,
    workers: Annotated[int | None, opt.option("N", "Processes that decode pictures.", "2", min=1, max=64)] = None,
    memory: Annotated[
        int | None, opt.option("MIB", "Memory for pictures and bodies, beside the model.", "900", min=256)
    ] = None,
    gather: Annotated[int, opt.option("N", "How many audits may share a turn of the model.", min=1, max=1024)] = 64,
    upstream: Annotated[
        str | None, opt.option("URL", "Guard: pass chat completions on to this server, and audit its answers.")
    ] = None,
    on_reject: Annotated[
        str | None, opt.option("WHAT", "Guard: annotate or replace a rejected answer.", "annotate")
    ] = None,
    reject_text: Annotated[
        str | None, opt.option("TEXT", "Guard: what replaces it.", "a sentence that says so")
    ] = None,
    reject_when: Annotated[
        str | None, opt.option("RULE", "Guard: an answer is rejected if any, all or a share of its claims are.", "any")
    ] = None,
    on_failure: Annotated[
        str | None,
        opt.option(
            "WHAT", "Guard: pass or reject an answer whose audit cannot be made.", "reject with replace, else pass"
        ),
    ] = None,
    upstream_timeout: Annotated[
        float | None, opt.option("S", "Guard: seconds the upstream may be silent.", "120", min=0.1, max=3600)
    ] = None,
    claims: Annotated[
        str, opt.option("WHO", "Who finds the claims of texts: rules, or both (a served --model lists them too).")
    ] = "rules",
    plain: opt.Plain = False,
    dtype: opt.Dtype = None,
    answers: opt.AnswerMode = None,
    max_pixels: opt.MaxPixels = None,
    pad: opt.Pad = False,
    device: opt.Device = None,
    attention: opt.Attention = None,
    graph: opt.GraphFile = None,
) -> None:
    """Serve audits over HTTP, with a page at /.

    Without --model the small models that come with the package are served, with their policies: each picture goes to
    the one that was made for such pictures, and there is no verdict on others. Pictures are taken from the request
    and never fetched, never stored. A token for all requests is read from $RECAP_TOKEN. On HUP the policy is read
    again; one that does not fit is refused, and the old one stays.

    With --upstream it also stands before a server that speaks OpenAI's chat completions: point clients here instead of
    there. Its answers are audited by --model, which must be named. The upstream's key, if it wants one, is read from
    $RECAP_UPSTREAM_KEY.

    \b
    Example: recap serve --model llava-hf/llava-1.5-7b-hf --policy policy.json --port 8765
             curl -s 127.0.0.1:8765/v1/audit -H 'content-type: application/json' \\
               -d '{"image": "world:whatsup/0032", "question": "Is the crate on the suitcase?"}'
             recap serve --model http://gpu:8000/v1 --policy policy.json --upstream http://gpu:8000/v1
    """
    allow_host = allow_host or []
    loading = opt.pick(locals(), opt.LOADING)
    service = opt.pick(
        locals(),
        "no_token allow_host tokens rate log connections workers memory gather "
        "upstream on_reject reject_text reject_when on_failure upstream_timeout",
    )
    from recap.server.run import serve, service_options, wait_asleep
    from recap.server.service import Service

    one_of(claims, ("rules", "both"), "a way to find claims here")
    options = service_options(host, **service)
    if upstream is not None and model is None:
        raise RecapError(
            "--upstream needs --model: real traffic is not audited by a small bundled model unless you name it "
            "(--model http://host:port/v1 for the upstream itself, or --model photo:coco for photographs)"
        )
    if upstream is None and (on_reject, on_failure, reject_when) != (None, None, None):
        notice("there is no --upstream: what is done with answers applies to LiteLLM's guardrail route alone")
    if review is not None:
        from recap.table import check_appendable

        check_appendable(review)
        if model is None:
            raise RecapError("--review needs --model: a table is about one model, and several come with the package")
    wait_asleep()
    auditor = load_auditor(model, policy, graph=graph, any_model=any_model, any_picture=any_picture, **loading)
    if claims == "both":
        _ = auditor.writer  # one that cannot write is refused at the start
    options |= {"claims": claims, "review": review}
    serve(Service(auditor, policy_file=policy, **options), host, port, notice)
