# torch and transformers type their own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""A model on this machine, through transformers: any image-text-to-text checkpoint with its released processor."""

from __future__ import annotations

import importlib.util
import math
import os
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import torch
import transformers

from recap.errors import RecapError, one_of, quoted
from recap.models.checkpoint import (
    checkpoint_folder,
    content_digest,
    display_name,
    find_checkpoint,
    load_weights,
    quiet_loading,
)
from recap.models.contract import ANSWERS, NOISE_FACTOR, Identity, Request, UnansweredError, sums_spellings
from recap.models.fp8 import FP8, use_fp8
from recap.models.layers import compile_layers, is_compiled
from recap.models.layout import TreeBatch
from recap.models.noise import LEAST_NOISE, MOST_NOISE, measured_noise
from recap.models.pixels import MOST_PIXELS
from recap.models.processor import load_processor
from recap.models.prompt import Prompter
from recap.models.scoring import LaunchedForward, Likelihood, Scorer
from recap.models.self_check import SelfCheck, recorded_check, self_check
from recap.schemes import register_parts

DTYPES = ("float32", "float16", "bfloat16", FP8)
TOKENS_ON_GPU, TOKENS_ON_CPU = 32768, 2048
"""token budgets of one forward: enough to fill the machine, found on an H200 and on two cores"""
COMPILE_FROM = 7e16
"""operations of a job, as planned, from which compiling pays: on an H200 it takes 17 s and saves 0.5 s in 1e15, so it
is paid for after 3.4e16; twice that, for hosts that compile longer"""
PREPARING_ON_GPU = 2 if importlib.util.find_spec("torchvision") else 4
"""threads that prepare batches for a GPU: with torchvision, processors bring threads of their own"""


class LocalModel:
    """A frozen checkpoint that answers with margins: by token tree where a self-check allows it, plainly elsewhere."""

    def __init__(
        self,
        model: Any,
        processor: Any,
        name: str,
        revision: str = "",
        *,
        plain: bool = False,
        answers: tuple[str, str] | str = ANSWERS,
        tokens: int | None = None,
        most_pixels: int | None = MOST_PIXELS,
        pad: bool = False,
        say: Callable[[str], None] = lambda _: None,
        compiling: bool = False,
        check_record: Path | None = None,
    ) -> None:
        """`check_record` holds the self-check of a bundled checkpoint, which is then run only where it has to be."""
        words, spellings = (ANSWERS, sums_spellings(answers)) if isinstance(answers, str) else (answers, False)
        self.prompter = Prompter(processor, name, words, spellings=spellings, most_pixels=most_pixels, pad=pad)
        if self.prompter.closing:
            say(f"{name} opens a thought before it answers: it is closed at once, empty")
        self.scorer = Scorer(model.eval(), self.prompter)
        self.tokens = tokens or (TOKENS_ON_GPU if self.scorer.device.type == "cuda" else TOKENS_ON_CPU)
        recorded = None if check_record is None else recorded_check(check_record, self.scorer, revision)
        check = SelfCheck("plain", None) if plain else recorded or self_check(self.scorer, say)
        self.way, self.difference = check.way, check.difference
        self._name, self._revision = name, revision
        self._compiling, self._say = compiling, say
        self._forwards = 0
        self._turn, self._one_at_a_time = Lock(), False
        self.launches = self.scorer.device.type == "cuda" and self.scorer.single and self.way == "tree"
        """whether a forward can be begun and read later: a CPU would only compute it at once"""

    @classmethod
    def load(
        cls,
        name: str,
        *,
        revision: str | None = None,
        dtype: str | None = None,
        device: str | None = None,
        attention: str | None = None,
        plain: bool = False,
        compiled: bool | None = None,
        tokens: int | None = None,
        called: str | None = None,
        answers: str = "continuation",
        max_pixels: int | None = MOST_PIXELS,
        pad: bool = False,
        say: Callable[[str], None] = lambda _: None,
        check_record: Path | None = None,
    ) -> LocalModel:
        """A checkpoint by folder or hub name, in the precision that its config names unless a `dtype` is given.

        `called` is the name it goes by where that is not the folder's.
        `compiled` fuses the layers' small operations: half a minute at the start, a quarter of every forward's time.
        Where it is not given, `expect` decides.
        `answers`: "continuation" scores " yes" and " no", as the paper; "spellings" sums over Yes, yes, YES and so on.
        `max_pixels`: larger pictures are scaled down to so many. `pad`: pictures are padded to a square, so that a
        processor that cuts out the centre keeps all of them.
        """
        try:
            place = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        except RuntimeError:
            raise RecapError(f'"{device}" is not a device (cpu, cuda, cuda:1, …)') from None
        if dtype is not None:
            one_of(dtype, DTYPES, "a dtype")
        sums_spellings(answers)
        shown = called or display_name(name)
        found = find_checkpoint(name, shown, revision)
        register_parts(Path(found))
        try:
            with quiet_loading():
                processor = load_processor(found, revision)
                base = ("bfloat16" if place.type == "cuda" else "float32") if dtype == FP8 else dtype
                model: Any = load_weights(found, shown, base, attention or "sdpa", revision).to(place)
            if dtype == FP8:
                use_fp8(model)
        except RecapError:
            raise
        except Exception as error:
            why = " ".join(str(error).split())
            raise RecapError(f"{shown}: cannot load the model: {why[:240]}") from None
        if compiled:
            compile_layers(model, 2)
        folder = checkpoint_folder(name, revision)  # a hub name has its files here only now
        return cls(
            model,
            processor,
            shown,
            "" if folder is None else content_digest(folder),
            plain=plain,
            answers=answers,
            tokens=tokens,
            most_pixels=max_pixels,
            pad=pad,
            say=say,
            compiling=compiled is None and place.type == "cuda",
            check_record=check_record,
        )

    @property
    def identity(self) -> Identity:
        """Who speaks, down to the library versions."""
        return Identity(
            name=self._name,
            revision=self._revision,
            dtype=self.scorer.precision,
            attention=self.scorer.attention + (", compiled" if is_compiled(self.scorer.model) else ""),
            scoring=self.way,
            template=self.prompter.template_digest,
            answers=self.prompter.spelled or self.prompter.answers,
            libraries=f"torch {torch.__version__}, transformers {transformers.__version__}",
            processor=self.prompter.pictures.digest,
            spellings=self.prompter.spelled is not None,
            by_content=bool(self._revision),
        )

    @cached_property
    def noise(self) -> float:
        """How far margins may differ by rounding: trial questions alone and together, as trees and plainly.

        In half precision a small model is also held against itself in fp32. Measured when it is first needed.
        """
        with self._turn:
            return NOISE_FACTOR * max(LEAST_NOISE, measured_noise(self.scorer, self.way))

    @property
    def most_noise(self) -> float:
        """More than `noise` can be: in fp32 on a CPU by far; infinite where only measuring tells."""
        exact = self.scorer.device.type == "cpu" and self.scorer.precision == "float32"
        return NOISE_FACTOR * MOST_NOISE if exact else math.inf

    @property
    def forwards(self) -> int:
        """How many forwards were run so far."""
        return self._forwards

    def size(self, image: tuple[int, int] | None, questions: int) -> int:
        """About how many tokens a request takes, from the picture's size alone: batches are planned with it."""
        tokens = 24 * questions + 16
        if image is None:
            return tokens
        try:
            shown = (max(image), max(image)) if self.prompter.pictures.pad else image
            width, height = self.prompter.pictures.size(shown)
            counted = self.prompter.processor._get_num_multimodal_tokens(image_sizes=[(height, width)])
            return tokens + int(counted.num_image_tokens[0])
        except Exception:  # an estimate only: processors differ in what they tell
            return tokens + 576

    def kept(self, image: tuple[int, int]) -> tuple[float, float]:
        """The shares of a picture's width and height that the processor keeps."""
        return self.prompter.pictures.kept(image)

    @property
    def padded(self) -> bool:
        return self.way == "tree" and self.scorer.packed is None

    @property
    def preparing(self) -> int:
        """On a GPU several threads keep up with it; on a CPU they would only take its cores."""
        return max(1, min(PREPARING_ON_GPU, (os.cpu_count() or 1) - 1)) if self.scorer.device.type == "cuda" else 1

    def expect(self, tokens: int) -> None:
        """Compile the layers if the work ahead is long enough to pay for it, unless that was settled at loading.

        By the job's size alone, never by the clock: compiled margins round differently, and a job that is started
        again must find those that it stored.
        """
        size = sum(parameter.numel() for parameter in self.scorer.model.parameters())
        if self._compiling and self.way == "tree" and 2 * size * tokens >= COMPILE_FROM:
            self._say("compiling the layers: half a minute at first, and less for every batch")
            compile_layers(self.scorer.model, 2)
            self._compiling = False

    def prepare(self, requests: Sequence[Request]) -> TreeBatch | None:
        """What can be done before the model's turn: token ids, pixels, trees, copies. Runs beside a forward."""
        if self.way == "plain":
            return None
        prompted = self.prompter.together(requests)
        try:
            return self.scorer.ready(prompted)
        except torch.OutOfMemoryError:  # the forward at hand needs it all: this batch is made ready in its own turn
            return None

    def begin(
        self, requests: Sequence[Request], prepared: TreeBatch | None = None
    ) -> TreeBatch | LaunchedForward | None:
        """Launch a prepared batch without waiting for it; what cannot be launched is left for its turn."""
        if not requests or prepared is None or self._one_at_a_time:
            return prepared
        try:
            with self._turn:
                return self.scorer.launch(prepared)
        except torch.OutOfMemoryError:  # there is room for one batch at a time only
            self._one_at_a_time = True
        except Exception:  # whatever it is, `margins` tells
            pass
        return prepared

    def margins(
        self, requests: Sequence[Request], prepared: TreeBatch | LaunchedForward | None = None
    ) -> list[list[float]]:
        """log p(yes) − log p(no) of every question. All requests have an image, or none has.

        Out of memory, the batch is halved, as often as it takes. Threads may call this at once; they take turns.
        """
        if not requests:
            return []
        if isinstance(prepared, LaunchedForward):
            self._forwards += 1
            return prepared.read()
        with self._turn:
            return self._margins(requests, prepared)

    def _margins(self, requests: Sequence[Request], prepared: TreeBatch | None = None) -> list[list[float]]:
        try:
            if self.way == "plain":
                self._forwards += 2 * sum(len(request.questions) for request in requests)
                return [self.scorer.plain(request) for request in requests]
            self._forwards += 1
            return self.scorer.tree(prepared or self.scorer.ready(self.prompter.together(requests)))
        except (RuntimeError, MemoryError) as error:
            if not _is_out_of_memory(error):
                raise
            if len(requests) == 1 and len(requests[0].questions) == 1:
                asked = quoted(requests[0].questions[0])
                advice = "" if requests[0].image is None else "; --max-pixels makes pictures smaller"
                raise UnansweredError(f"{self._name}: out of memory on {asked} alone{advice}") from None
        torch.cuda.empty_cache()
        if len(requests) > 1:
            half = len(requests) // 2
            return self._margins(requests[:half]) + self._margins(requests[half:])
        image, questions = requests[0].image, requests[0].questions
        half = len(questions) // 2
        parts = self._margins([Request(image, questions[:half])]) + self._margins([Request(image, questions[half:])])
        return [parts[0] + parts[1]]

    def likelihoods(self, request: Request, continuations: Sequence[Sequence[str]]) -> list[list[Likelihood]]:
        """log p of each question's continuations, as evaluation harnesses ask for, and whether each is the greedy one.

        For a question's two answers the difference is its margin. All from one forward where every continuation is
        one token, and one forward for each elsewhere.
        """
        shown = request.image is not None
        ids = [
            [self.prompter.continuation(self.prompter.prompt(question, shown), text) for text in some]
            for question, some in zip(request.questions, continuations, strict=True)
        ]
        single = all(len(answer) == 1 for some in ids for answer in some)
        with self._turn:
            if self.way == "tree" and self.scorer.single and single:
                self._forwards += 1
                return self.scorer.tree_likelihoods(self.prompter.together([request]), ids)
            self._forwards += sum(map(len, ids))
            return self.scorer.plain_likelihoods(request, ids)


def _is_out_of_memory(error: Exception) -> bool:
    """On a GPU torch has an error of its own for it; the CPU's allocator and cuBLAS say it in words."""
    said = ("can't allocate memory", "not enough memory", "ALLOC_FAILED")
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or any(words in str(error) for words in said)
