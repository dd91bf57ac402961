"""Pictures from strangers: the bytes themselves, or a scene in the box. Nothing is ever fetched, no name is a path."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager

from PIL import Image

from recap.errors import RecapError
from recap.images import open_image
from recap.schemes import scheme_of
from recap.server.intake.ahead import PictureAhead, PicturesAhead
from recap.server.intake.budget import Budget, BusyError
from recap.server.intake.decoding import DecodePool, Size
from recap.server.intake.encoded import EncodedImage, InputImage
from recap.server.service import Limits


class PictureOpener:
    """Opens pictures for requests. How many pixels all of them hold together is limited, and taken before decoding."""

    def __init__(self, limits: Limits) -> None:
        self.limits, self.pool = limits, DecodePool(limits)
        self.held = Budget(limits.held_pixels, limits.patience_seconds, "too many pictures are being audited")
        self.ahead = PicturesAhead(limits, self.pool, self.held)

    def close(self) -> None:
        """End every process. It blocks."""
        self.pool.close()
        self.ahead.close()

    @asynccontextmanager
    async def opened_one(
        self, text: str, client: str, ahead: PictureAhead | None = None
    ) -> AsyncGenerator[InputImage | RecapError]:
        """One picture, which may have been opened ahead."""
        found = None if ahead is None else await ahead.take()
        if found is None:
            async with self.opened([text], client) as opened:
                yield opened[text]
            return
        try:
            yield found[0]
        finally:
            self.held.give(found[1])

    @asynccontextmanager
    async def opened(self, texts: Iterable[str], client: str) -> AsyncGenerator[dict[str, InputImage | RecapError]]:
        """Pictures by the texts that they were sent as, for the length of the block; an error for each that is none.

        A picture is a text of base64, a data: URL, or the name of a scene in the box.
        """
        taken: list[int] = []
        try:
            yield await self._open(list(texts), client, taken)
        finally:
            self.held.give(sum(taken))

    async def _open(self, texts: list[str], client: str, taken: list[int]) -> dict[str, InputImage | RecapError]:
        found: dict[str, InputImage | RecapError] = {}
        large: dict[str, tuple[EncodedImage, Size]] = {}

        async def take(pixels: int) -> None:
            await self.held.take(pixels)
            taken.append(pixels)

        # All at once, here and below: two requests that each wait for the rest would wait for each other.
        await take(len(texts) * self.limits.small_pixels)
        for text in texts:
            try:
                if scheme_of(text[:16]) is not None:
                    found[text] = InputImage(await asyncio.to_thread(open_image, text), text)
                    continue
                # Of most pictures this is all: one order, which decodes small ones and tells how large others are.
                encoded = await asyncio.to_thread(EncodedImage.of, text, self.limits)
                opened = await self._decode(encoded, client, self.limits.small_pixels)
                if isinstance(opened, Size):
                    large[text] = encoded, opened
                else:
                    found[text] = InputImage(opened, encoded.name)
            except BusyError:
                raise
            except RecapError as error:
                found[text] = error
        exact = sum(each.pixels for each in found.values() if isinstance(each, InputImage))
        self.held.give(taken.pop() - exact)
        taken.append(exact)
        pixels = {text: size.width * size.height for text, (_, size) in large.items()}
        if sum(pixels.values()) > self.limits.request_pixels:
            most = self.limits.request_pixels // 1_000_000
            raise RecapError(f"image: the pictures of one request may have {most} million pixels together")
        if pixels:
            await take(sum(pixels.values()))
        for text, (encoded, _) in large.items():
            try:
                opened = await self._decode(encoded, client, pixels[text])
                if isinstance(opened, Size):
                    raise RecapError("image: it changed while it was read")
                found[text] = InputImage(opened, encoded.name)
            except BusyError:
                raise
            except RecapError as error:
                found[text] = error
        return found

    async def _decode(self, encoded: EncodedImage, client: str, allow: int) -> Image.Image | Size:
        return await self.pool.decode(encoded.data, client, is_base64=True, allow=allow)
