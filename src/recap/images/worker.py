"""A process that decodes pictures for a service: `python -m recap.images.worker FD MEMORY`.

Strangers' pictures are opened here and nowhere else, under limits that the kernel enforces: on memory, on CPU time per
picture, on files and on further processes. Bytes come and pixels leave through the shared memory FD; the orders and
their answers are lines of JSON. What exceeds a limit ends this process, and the service starts another.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import os
import resource
import signal
import sys
from typing import Any

from PIL import Image, ImageFile

from recap.errors import RecapError
from recap.images import STRANGERS_FORMATS, open_picture, read_header

CPU_SECONDS, CPU_SECONDS_PER_MEGAPIXEL = 0.6, 0.15
"""for the header and small change; for the pixels: several times what the slowest honest format takes"""
ROWS = 256
"""written at a time, so that no second copy of a picture is ever made"""


def confine(memory: int, largest: int) -> None:
    """Give up everything that decoding does not need."""
    limits = {"RLIMIT_AS": memory, "RLIMIT_CORE": 0, "RLIMIT_NPROC": 0, "RLIMIT_FSIZE": largest, "RLIMIT_NOFILE": 32}
    for name, most in limits.items():
        with contextlib.suppress(ValueError, OSError, AttributeError):
            resource.setrlimit(getattr(resource, name), (most, most))
    with contextlib.suppress(OSError):
        os.nice(5)  # whoever is served comes before whoever still sends pictures


def allow_cpu(seconds: float) -> None:
    """From now on, so much CPU time; beyond it the kernel ends this process, wherever it is. 0 takes the limit away."""
    signal.setitimer(signal.ITIMER_PROF, seconds)


def decoded(order: dict[str, Any], fd: int) -> dict[str, Any]:
    """Carry out one order: decode the picture if it has at most `allow` pixels, else only say how large it is."""
    data = os.pread(fd, order["length"], 0)
    if order["base64"]:
        try:
            data = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            raise RecapError("image: this is neither base64 nor a data: URL") from None
    width, height = read_header(data, order["most_pixels"])
    if width * height > order["allow"]:
        return {"width": width, "height": height, "pixels": False}
    allow_cpu(CPU_SECONDS + CPU_SECONDS_PER_MEGAPIXEL * width * height / 1e6)
    try:
        picture = open_picture(data, STRANGERS_FORMATS)
    except RecapError as error:
        raise RecapError(str(error).replace("the image:", "image:", 1)) from None
    del data
    os.ftruncate(fd, 0)
    os.ftruncate(fd, picture.width * picture.height * 3)
    at = 0
    for top in range(0, picture.height, ROWS):
        strip = picture.crop((0, top, picture.width, min(top + ROWS, picture.height))).tobytes()
        at += os.pwrite(fd, strip, at)
    return {"width": picture.width, "height": picture.height, "pixels": True}


def main() -> None:
    """Orders from stdin until it ends."""
    fd, memory, largest = (int(each) for each in sys.argv[1:4])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the service, which then ends this
    Image.preinit()
    Image.init()
    ImageFile.LOAD_TRUNCATED_IMAGES = False
    confine(memory, largest)
    for line in sys.stdin.buffer:
        allow_cpu(CPU_SECONDS)
        try:
            answer = decoded(json.loads(line), fd)
        except RecapError as error:
            answer = {"error": str(error)}
        except MemoryError:
            answer = {"error": "image: decoding it takes too much memory"}
        allow_cpu(0)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
