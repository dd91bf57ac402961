"""`recap bench`: how fast the token tree is, beside the plain ways."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from recap.cli import options as opt
from recap.cli.console import notice, print_json
from recap.errors import RecapError


def run(
    arch: Annotated[str, typer.Option(help="tiny, qwen3-vl-2b, qwen3-vl-8b, internvl3.5-8b or llava-1.5-7b.")] = "tiny",
    images: Annotated[
        int | None,
        typer.Option(help="Pictures at most.", min=1, show_default="820; 200 with --against; all with --pictures"),
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
    pictures: Annotated[
        Path | None, opt.option("DIR", "Time a model end to end on the picture files of this folder.")
    ] = None,
    model: Annotated[
        str | None, opt.option("MODEL", "With --pictures: a folder or a hub name.", "world:aligned", "--model -m")
    ] = None,
    random: Annotated[
        bool, typer.Option("--random-weights", help="With --pictures: the model's shape, no weights needed.")
    ] = False,
    statements: Annotated[int, typer.Option(help="With --pictures: statements per picture.", min=1)] = 4,
    server: opt.Server = None,
    concurrency: opt.Concurrency = None,
    json: opt.Json = False,
) -> None:
    """Time What'sUp-shaped work on random weights of a real shape: call by call, batched, and as token trees.

    With --pictures, time a model on your own picture files, end to end: from the files on disk, through the model's
    released processor, to margins in a store. With --against, time the small checkpoint in the box instead: as token
    trees and batched without sharing on this machine, and by the server at URL, on the same pictures and questions.

    \b
    Example: recap bench --arch tiny --images 24
             recap bench --pictures photos/ --model Qwen/Qwen3-VL-8B-Instruct --compiled 2
             recap bench --against http://localhost:8000/v1#world-aligned
    """
    from recap.bench import bench

    if against is not None:
        _against(against, 200 if images is None else images, {"server": server, "concurrency": concurrency}, json)
        return
    if pictures is not None:
        _pictures(
            pictures,
            model or "world:aligned",
            json,
            images=images,
            statements=statements,
            random=random,
            dtype=dtype,
            device=device,
            tokens=tokens,
            compiled=compiled > 0,
        )
        return
    if model is not None or random:
        raise RecapError("--model and --random-weights belong to --pictures; without it, give --arch")
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


def _pictures(folder: Path, model: str, json: bool, **options: Any) -> None:
    from recap.bench import bench_pictures

    found = bench_pictures(folder, model, say=notice, **options)
    if json:
        print_json(found.to_json())
        return
    typer.echo(
        f"{model} ({found.weights} weights) on {found.device} in {found.dtype}: {found.pictures} pictures of "
        f"{found.sizes} sizes, {found.statements} statements, {found.tokens_per_picture:.0f} tokens per picture"
    )
    for way, ms in found.ms_per_statement.items():
        typer.echo(f"  {way:<8} {ms:10.2f} ms per statement, files to store")
    ratios, rate = found.ratios, found.matmul_tflops
    typer.echo(f"tree: {ratios['vs_calls']:.1f} × call by call, {ratios['vs_batched']:.1f} × batched without sharing,")
    typer.echo(
        f"{found.tflop_per_statement:.2g} TFLOP per statement, {found.share_of_matmul:.0%} of the matrix-product"
    )
    busy = "" if found.gpu_busy is None else f" GPU busy {found.gpu_busy:.1%}, {found.peak_gib:.0f} GiB at most;"
    typer.echo(f"rate ({rate:.1f} TFLOP/s), counted on useful tokens;{busy}")
    typer.echo(
        f"slowest batch {found.slowest_batch:.2f} × the median per token; first batches {found.warm_seconds:.0f} s;"
    )
    typer.echo(f"margins of the three ways differ by at most {found.largest_difference:.2g}")


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
