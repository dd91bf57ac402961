"""`recap bench`: how fast the token tree is, beside the plain ways."""

from __future__ import annotations

from typing import Annotated

import typer

from recap.cli.options import Device, Dtype, Json


def run(
    arch: Annotated[str, typer.Option(help="tiny, qwen3-vl-2b, qwen3-vl-8b, internvl3.5-8b or llava-1.5-7b.")] = "tiny",
    images: Annotated[int, typer.Option(help="Pictures, each with four statements.")] = 820,
    tokens: Annotated[int | None, typer.Option(help="Token budget of one forward.", show_default="by device")] = None,
    compiled: Annotated[
        int, typer.Option(help="Compile the layers of so many module lists (2: decoder and vision).")
    ] = 0,
    dtype: Dtype = None,
    device: Device = None,
    json: Json = False,
) -> None:
    """Time What'sUp-shaped work on random weights of a real shape: call by call, batched, and as token trees.

    \b
    Example: recap bench --arch tiny --images 24
    """
    from recap.cli.console import notice, print_json
    from recap.errors import RecapError, did_you_mean

    try:
        from recap.models.bench import bench
        from recap.models.shapes import SHAPES
    except ImportError as error:
        raise RecapError(f"{error.name} is not installed: the bench needs pip install 'recap-vlm[local]'") from None
    if arch not in SHAPES:
        raise RecapError(f'"{arch}" is not a shape{did_you_mean(arch, SHAPES)} ({", ".join(SHAPES)})')
    if images < 1:
        raise RecapError(f"images is {images}; at least one is needed")
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
