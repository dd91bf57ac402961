"""From a question to token ids, with a model's released processor and chat template."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from recap.errors import RecapError
from recap.models.contract import ANSWERS, SAMPLE_QUESTION, Request, single_tokens, spellings_of
from recap.models.pixels import MOST_PIXELS
from recap.models.processor import PictureInput, one_at_a_time
from recap.models.templates import check_prompts, plain_text, user_message, without_thought
from recap.models.tree import common_length

if TYPE_CHECKING:
    from PIL.Image import Image

T = TypeVar("T")


@dataclass(frozen=True)
class Prompted:
    """A batch of requests ready for a model: token ids of every question, and what the vision tower takes."""

    sequences: list[list[list[int]]]
    """per request, per question: the whole prompt"""
    vision: dict[str, Any]
    """pixel values and their companions for all requests together; empty without images"""


class Prompter:
    """Wraps a processor: the same template with and without the image item, continuations resolved once."""

    def __init__(
        self,
        processor: Any,
        name: str,
        answers: tuple[str, str] = ANSWERS,
        *,
        spellings: bool = False,
        most_pixels: int | None = MOST_PIXELS,
        pad: bool = False,
    ) -> None:
        self.processor = processor
        self.tokenizer = getattr(processor, "tokenizer", processor)
        one_at_a_time(self.tokenizer)
        self.name = name
        self.pictures = PictureInput(processor, most_pixels, pad)
        self.special = special_tokens(processor, self.tokenizer)
        template = getattr(processor, "chat_template", None) or getattr(self.tokenizer, "chat_template", None)
        if not template:
            raise RecapError(f"{name}: the model has no chat template, so it cannot be asked a question as released")
        self.switches, self.closing = self._without_thought(str(template))
        self._frames = {shown: self._frame(shown) for shown in (True, False)}
        self._named(lambda: check_prompts(self.prompt))
        # The template and what it makes of a sample: one that writes the date into its prompts is another every day.
        made = [str(template), *(self.prompt(SAMPLE_QUESTION, shown) for shown in (True, False))]
        self.template_digest = hashlib.sha256("\0".join(made).encode()).hexdigest()[:16]
        self.answers = self._resolve(answers)
        self.spelled = self._spellings(answers) if spellings else None

    def prompt(self, question: str, with_image: bool) -> str:
        """The chat prompt up to where the assistant answers. Special tokens in the question are plain text."""
        frame = self._frames[with_image]
        if frame is None:
            return self._rendered(question, with_image, self.switches) + self.closing
        return frame[0] + plain_text(question, self.special) + frame[1] + self.closing

    def _frame(self, with_image: bool) -> tuple[str, str] | None:
        """What a template puts around every question, found once; None for one that does more than that."""
        samples = (SAMPLE_QUESTION, "Does the  box contain the ball ")
        parts = [self._rendered(sample, with_image, self.switches).partition(sample) for sample in samples]
        same = parts[0][::2] == parts[1][::2] and all(found for _, found, _ in parts)
        return (parts[0][0], parts[0][2]) if same else None

    def _rendered(self, question: str, with_image: bool, switches: dict[str, bool]) -> str:
        message = user_message(plain_text(question, self.special), with_image)
        try:
            return self.processor.apply_chat_template(message, add_generation_prompt=True, tokenize=False, **switches)
        except Exception as error:
            raise RecapError(f"{self.name}: the chat template refuses a question: {_one_line(error)}") from None

    def _without_thought(self, template: str) -> tuple[dict[str, bool], str]:
        def rendered(switches: dict[str, bool]) -> str:
            # transformers remarks on what a template does not know.
            return self._rendered(
                SAMPLE_QUESTION, False, {name: on for name, on in switches.items() if name in template}
            )

        return self._named(lambda: without_thought(rendered))

    def _named(self, work: Callable[[], T]) -> T:
        """What the work gives; an error says whose template it is about."""
        try:
            return work()
        except RecapError as error:
            said = str(error)
            raise RecapError(said if said.startswith(f"{self.name}: ") else f"{self.name}: {said}") from None

    def tokens(self, text: str) -> list[int]:
        """Token ids of a whole prompt; the template brings its own special tokens if it has any."""
        return self.tokens_of([text])[0]

    def tokens_of(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of several prompts, in one call."""
        special = not self._template_has_bos()
        return [list(ids) for ids in self.tokenizer(list(texts), add_special_tokens=special)["input_ids"]]

    def together(self, requests: Sequence[Request]) -> Prompted:
        """Prompts of several requests, which all have an image or all have none. Each image is processed once."""
        shown = requests[0].image is not None
        prompts = [self.prompt(question, shown) for request in requests for question in request.questions]
        tokens = iter(self.tokens_of(prompts))
        bare = [[next(tokens) for _ in request.questions] for request in requests]
        if not shown:
            return Prompted(bare, {})
        images = [self.pictures.shown(request.image) for request in requests if request.image is not None]
        encoded = self.encode([self.prompt(request.questions[0], True) for request in requests], images)
        ids, kept = encoded.pop("input_ids"), encoded.pop("attention_mask")
        wholes = [ids[row][kept[row].bool()].tolist() for row in range(len(requests))]
        for name in ("token_type_ids", "mm_token_type_ids"):
            encoded.pop(name, None)
        return Prompted([self._expanded(*each) for each in zip(wholes, bare, strict=True)], encoded)

    def encode(self, prompts: Sequence[str], images: Sequence[Image]) -> dict[str, Any]:
        """What the processor makes of prompts with one image each (as `pictures` shows them), padded to a batch."""
        try:
            encoded = self.processor(
                text=list(prompts),
                images=[[image] for image in images],
                padding=True,
                return_tensors="pt",
                add_special_tokens=not self._template_has_bos(),
            )
        except Exception as error:
            raise RecapError(f"{self.name}: the processor refuses the image: {_one_line(error)}") from None
        found = dict(encoded)
        if not any(name.startswith("pixel") for name in found):
            raise RecapError(f"{self.name}: the processor drops the image, so nothing would be seen")
        return found

    def _expanded(self, whole: list[int], bare: Sequence[list[int]]) -> list[list[int]]:
        """Every question's ids, from the first one's whole: a processor only widens the image's place in the prompt.

        What stands for the image in the unexpanded prompts (`bare`) is found by comparing the first with its whole.
        """
        first = bare[0]
        before = common_length(first, whole)
        after = common_length(first[before:][::-1], whole[before:][::-1])
        place, wide = first[before : len(first) - after], whole[before : len(whole) - after]
        found = [whole]
        for ids in bare[1:]:
            if ids[:before] != first[:before] or ids[before : before + len(place)] != place:
                raise RecapError(f"{self.name}: the prompt around the image changes with the question")
            found.append(ids[:before] + wide + ids[before + len(place) :])
        return found

    def _template_has_bos(self) -> bool:
        bos = getattr(self.tokenizer, "bos_token", None)
        return bool(bos) and self._sample_prompt().lstrip().startswith(bos)

    def _sample_prompt(self) -> str:
        if not hasattr(self, "_sample"):
            self._sample = self.prompt(SAMPLE_QUESTION, False)
        return self._sample

    def continuation(self, prompt: str, answer: str) -> tuple[int, ...]:
        """Token ids of a continuation, as they come out behind a prompt."""
        base, joined = self.tokens_of([prompt, prompt + answer])
        if joined[: len(base)] != base or len(joined) == len(base):
            # The tokenizer merges across the border (or trims): take the continuation by itself.
            return tuple(self.tokenizer(answer, add_special_tokens=False)["input_ids"])
        return tuple(joined[len(base) :])

    def _resolve(self, answers: tuple[str, str]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Token ids of both continuations, as they come out behind a real prompt."""
        prompt = self._sample_prompt()
        found = [self.continuation(prompt, answer) for answer in answers]
        yes, no = found
        if not yes or not no or yes == no:
            raise RecapError(f"{self.name}: the tokenizer cannot tell {answers[0]!r} from {answers[1]!r}")
        return yes, no

    def _spellings(self, answers: tuple[str, str]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Token ids of every way to write each answer that is a single token: yes, Yes, YES, with and without space."""
        prompt = self._sample_prompt()
        base = self.tokens(prompt)
        found: list[tuple[int, ...]] = []
        for answer in answers:
            ways = spellings_of(answer)
            joined = [self.tokens(prompt + way) for way in ways]
            alone = [list(self.tokenizer(way, add_special_tokens=False)["input_ids"]) for way in ways]
            found.append(single_tokens(base, joined, alone))
        yes, no = found
        if not yes or not no or set(yes) & set(no):
            raise RecapError(f"{self.name}: no spelling of {answers[0]!r} and {answers[1]!r} is a single token")
        return yes, no


def special_tokens(processor: Any, tokenizer: Any) -> tuple[str, ...]:
    """Every string that the tokenizer or the processor would not read as text."""
    added = [str(token) for token in getattr(tokenizer, "added_tokens_encoder", {})]
    named = [getattr(processor, name, None) for name in ("image_token", "video_token", "fake_image_token")]
    return tuple(dict.fromkeys([*added, *(str(token) for token in named if isinstance(token, str))]))


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
