"""`recap bench`: how fast the token tree is, beside the plain ways."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from recap.cli import options as opt
from recap.cli.console import notice, print_json


def run(
    arch: Annotated[str, typer.Option(help="tiny, qwen3-vl-2b, qwen3-vl-8b, internvl3.5-8b or llava-1.5-7b.")] = "tiny",
    images: Annotated[
        int | None, typer.Option(help="Pictures, each with four statements.", show_default="820; 200 with --against")
    ] = None,
    tokens: Annotated[int | None, typer.Option(help="Token budget of one forward.", show_default="by device")] = None,
    compiled: Annotated[
        int, typer.Option(help="Compile the layers of so many module lists (2: decoder and vision).")
    ] = 0,
    dtype: opt.Dtype = None,
    device: opt.Device = None,
    against: Annotated[
        str | None, opt.option("URL", "A server that serves world:aligned, to be timed beside it.")
    ] = None,
    server: opt.Server = None,
    concurrency: opt.Concurrency = None,
    json: opt.Json = False,
) -> None:
    """Time What'sUp-shaped work on random weights of a real shape: call by call, batched, and as token trees.

    With --against, time the small checkpoint in the box instead: as token trees and batched without sharing on this
    machine, and by the server at URL, on the same pictures and questions.

    \b
    Example: recap bench --arch tiny --images 24
             recap bench --against http://localhost:8000/v1#world-aligned
    """
    from recap.bench import bench

    if against is not None:
        _against(against, 200 if images is None else images, {"server": server, "concurrency": concurrency}, json)
        return
    images = 820 if images is None else images
    found = bench(arch, images, device=device, dtype=dtype, tokens=tokens, compiled=compiled, say=notice).to_json()
    if json:
        print_json(found)
        return
    typer.echo(f"{arch} on {found['device']} in {found['dtype']}, {images} pictures × 4 statements, RECAP-Img")
    for way, ms in found["ms_per_statement"].items():
        typer.echo(f"  {way:<8} {ms:10.2f} ms per statement")
    ratios = found["ratios"]
    typer.echo(f"tree: {ratios['vs_calls']:.1f} × call by call, {ratios['vs_batched']:.1f} × batched without sharing,")
    rate, share, probes = found["matmul_tflops"], found["share_of_matmul"], found["probes_per_second"]
    typer.echo(f"{probes:.0f} probes/s, {share:.0%} of the machine's matrix-product rate ({rate:.1f} TFLOP/s);")
    typer.echo(f"margins of the two ways differ by at most {found['largest_difference']:.2g}")


def _against(address: str, images: int, serving: dict[str, Any], json: bool) -> None:
    from recap.bench import compare_with_server
    from recap.bench.against import CHECKPOINT

    found = compare_with_server(address, images, say=notice, **serving)
    if json:
        print_json({"checkpoint": CHECKPOINT, "images": images, "ways": [each.to_json() for each in found]})
        return
    typer.echo(f"{CHECKPOINT}, {images} pictures × 4 statements, RECAP-Img, {found[0].probes} probes")
    for each in found:
        cached = "" if each.from_prefix_cache is None else f", {each.from_prefix_cache:.0%} from its prefix cache"
        turns = f"{each.forwards} {'requests' if each.way.startswith('served') else 'forwards'}"
        typer.echo(f"  {each.way:<24} {each.rate:8.1f} probes/s  ({each.seconds:.1f} s, {turns}{cached})")
    typer.echo(f"margins of the three differ by at most {max(each.largest_difference for each in found):.2g}")
