"""Pictures that are opened before it is known whether they are needed, with what nobody else uses at that moment.

The guard has a request's picture long before it has the answer. Whether there is something to audit is known only then,
so nothing that an audit needs is spent on it: a process of its own decodes, one picture at a time and only while no
other is being decoded; few pictures are kept, for a while; and all of them go when somebody waits for their room.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TypeVar

from PIL import Image

from recap.errors import RecapError
from recap.server.intake.budget import Budget
from recap.server.intake.decoding import PICTURES, TOO_MUCH, DecodePool, DecodingProcess, LostError, Size
from recap.server.intake.encoded import EncodedImage, InputImage
from recap.server.service import Limits

T = TypeVar("T")


@dataclass(frozen=True)
class Look:
    """A first look at a picture that is open: how strange it is to the models."""

    strangeness: Callable[[Image.Image], Mapping[str, float]]
    """in a thread of its own"""
    wanted: Callable[[], bool]
    """whether nobody else needs the models at that moment"""

    def at(self, picture: Image.Image) -> Mapping[str, float]:
        """What is found; nothing where that fails: then it is the audit's to fail, and to tell."""
        try:
            return self.strangeness(picture)
        except BaseException:  # a library's panic is not an Exception
            return {}


@dataclass(eq=False)
class PictureAhead:
    """One picture that is being opened, or is open, for a request that may need it."""

    owner: PicturesAhead
    pixels: int = 0
    """taken for it of those that may be held"""
    found: InputImage | RecapError | None = None
    """the picture, or what is wrong with it"""
    wanted: bool = True
    hurried: bool = False
    """whether its answer has come: what has not begun by then is left to the audit"""
    opening: asyncio.Task[None] | None = None
    timer: asyncio.TimerHandle | None = None

    async def take(self) -> tuple[InputImage | RecapError, int] | None:
        """The picture, or what is wrong with it, once that is known, and how many pixels the caller is to give back.

        None where it was not opened after all: then it is to be opened as any other.
        """
        if self.opening is not None:
            await asyncio.shield(self.opening)
        if self.found is None:
            return None
        found, pixels = self.found, self.pixels
        self.pixels = 0
        self.close()
        return found, pixels

    def close(self) -> None:
        """Let it go; what has been let go stays so."""
        self.owner.drop(self)


class PicturesAhead:
    """Every picture that is opened ahead."""

    def __init__(self, limits: Limits, pool: DecodePool, held: Budget) -> None:
        """`pool` and `held` are those of the audits, which come first."""
        self.limits, self.pool, self.held = limits, pool, held
        self._kept: set[PictureAhead] = set()
        self.busy = False
        """whether one is being opened"""
        self._worker: DecodingProcess | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="decode-ahead")
        self._closed = False
        held.reclaim = pool.memory.reclaim = self.drop_all

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def pixels(self) -> int:
        return sum(each.pixels for each in self._kept)

    def begin(self, text: str, look: Look | None = None) -> PictureAhead | None:
        """Begin to open a picture, a data: URL, if nothing else is being opened and there is room; else None."""
        others = not self.pool.idle or self.held.is_awaited
        if self.busy or self._closed or others or len(self) >= self.limits.ahead:
            return None
        picture = PictureAhead(self)
        if not self._resize(picture, self.limits.small_pixels):
            return None
        self.busy = True
        self._kept.add(picture)
        picture.timer = asyncio.get_running_loop().call_later(self.limits.ahead_seconds, picture.close)
        picture.opening = asyncio.create_task(self._open(picture, text, look))
        return picture

    def drop(self, picture: PictureAhead) -> None:
        """Let one picture go. One that is being decoded is decoded to its end, and its room is free then."""
        picture.wanted, picture.found = False, None
        if picture.timer is not None:
            picture.timer.cancel()
        if picture.opening is None or picture.opening.done():
            self._kept.discard(picture)
            self._resize(picture, 0)

    def drop_all(self) -> None:
        """Let every picture go at once: somebody who has an answer to audit waits for the room."""
        for picture in list(self._kept):
            self.drop(picture)
        worker = self._worker
        if self.busy and worker is not None:
            with contextlib.suppress(OSError):
                worker.process.kill()

    def close(self) -> None:
        """End its process. It blocks."""
        self._closed = True
        worker = self._worker
        if worker is not None:
            with contextlib.suppress(OSError):
                worker.process.kill()
        self._thread.shutdown()
        self._end_worker()

    def _resize(self, picture: PictureAhead, pixels: int) -> bool:
        """Count a picture as having so many pixels, if there is room for them."""
        more = pixels - picture.pixels
        if more > 0 and (self.pixels + more > self.limits.ahead_pixels or not self.held.take_now(more)):
            return False
        picture.pixels = pixels
        if more < 0:
            self.held.give(-more)
        return True

    async def _open(self, picture: PictureAhead, text: str, look: Look | None) -> None:
        found: InputImage | RecapError | None = None
        try:
            found = await self._opened(picture, text)
            if found is not None and look is not None and picture.wanted and not picture.hurried and look.wanted():
                image = found.image
                found = replace(found, strangeness=await self._run(lambda: look.at(image)))
        except RecapError as error:
            found = error
        except Exception:  # whatever it is: the picture will be opened as any other, which then tells
            found = None
        finally:
            self.busy = False
            if not picture.wanted:
                found = None
            picture.found = found
            self._resize(picture, found.pixels if isinstance(found, InputImage) else 0)
            if found is None:
                self._kept.discard(picture)

    async def _opened(self, picture: PictureAhead, text: str) -> InputImage | None:
        encoded = await self._run(lambda: EncodedImage.of(text, self.limits))
        found = await self._decoded(encoded, self.limits.small_pixels)
        if isinstance(found, Size):
            pixels = found.width * found.height
            # It takes longer than its head did: another look at whether somebody else needs what it takes.
            if not picture.wanted or not self.pool.idle or not self._resize(picture, pixels):
                return None
            found = await self._decoded(encoded, pixels)
        return InputImage(found, encoded.name) if isinstance(found, Image.Image) else None

    async def _decoded(self, encoded: EncodedImage, allow: int) -> Image.Image | Size | None:
        if not self.pool.memory.take_now(allow):
            return None
        try:
            return await self._run(lambda: self._decode(encoded.data, allow))
        finally:
            self.pool.memory.give(allow)

    def _run(self, work: Callable[[], T]) -> asyncio.Future[T]:
        return asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _decode(self, data: bytes, allow: int) -> Image.Image | Size | None:
        """In its thread. None where the process was ended for another reason than the picture: for somebody else."""
        if self._worker is not None and (self._worker.process.poll() is not None or self._worker.pictures >= PICTURES):
            self._end_worker()
        if self._worker is None:
            self._worker = DecodingProcess(self.limits)
        try:
            return self._worker.decode(data, is_base64=True, allow=allow)
        except RecapError:
            raise
        except BaseException as error:
            self._end_worker()  # whatever it is in the middle of
            if not isinstance(error, LostError):
                raise
            if error.limit:
                raise RecapError(TOO_MUCH) from None
            return None

    def _end_worker(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()
