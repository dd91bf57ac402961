# torch and transformers type their own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""A model on this machine that is asked for whole answers, many times each: margins by sampling.

For models that think before they answer: the thought is generated, and only what stands behind it counts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Lock
from typing import Any

import torch

from recap.claims.answers import concluded
from recap.models.contract import Identity, Request
from recap.models.local import LocalModel
from recap.models.prompt import Prompter
from recap.models.scoring import Scorer
from recap.statistics.sampling import check_samples, sampled_margin

SHORT, LONG = 8, 1024
"""tokens that an answer may take: at once, and behind a thought"""
TOGETHER = 64
"""answers that are generated at once: each keeps its own keys and values"""


class SampledLocalModel:
    """Answers are generated at temperature 1 and counted. The same probe gives the same answers again."""

    padded, preparing, tokens = False, 1, 512

    def __init__(self, model: LocalModel, samples: int, *, say: Callable[[str], None] = lambda _: None) -> None:
        check_samples(samples)
        self.exact, self.samples = model, samples
        self.way = f"{samples} sampled answers each"
        self.neither = 0
        """answers so far that were neither yes nor no; each counts half"""
        self._forwards, self._turn = 0, Lock()
        prompter = model.prompter
        self._longest = LONG if prompter.closing else SHORT
        if prompter.closing:
            say(f"{model.identity.name} thinks before it answers: each answer may take {LONG} tokens")

    @property
    def identity(self) -> Identity:
        return replace(
            self.exact.identity, scoring=f"sampled at temperature 1, {self._longest} tokens", samples=self.samples
        )

    @property
    def prompter(self) -> Prompter:
        """The checkpoint's own."""
        return self.exact.prompter

    @property
    def scorer(self) -> Scorer:
        """The checkpoint's own."""
        return self.exact.scorer

    @property
    def noise(self) -> float:
        """What sampling does beyond the model's own rounding is told as a standard error, not as a band."""
        return self.exact.noise

    @property
    def forwards(self) -> int:
        return self._forwards

    def size(self, image: tuple[int, int] | None, questions: int) -> int:
        return self.exact.size(image, questions)

    def kept(self, image: tuple[int, int]) -> tuple[float, float]:
        return self.exact.kept(image)

    def expect(self, tokens: int) -> None:
        """Nothing is prepared for a long job."""

    def prepare(self, requests: Sequence[Request]) -> None:
        """Nothing is done ahead of a batch's turn."""

    def margins(self, requests: Sequence[Request], prepared: Any = None) -> list[list[float]]:  # noqa: ARG002
        """The log-odds of "yes" among the sampled answers to every question."""
        with self._turn:
            return [[self._margin(question, request) for question in request.questions] for request in requests]

    def _margin(self, question: str, request: Request) -> float:
        answers = self.answers(question, request)
        neither = answers.count(None)
        self.neither += neither
        return sampled_margin(answers.count("yes") + neither / 2, self.samples)

    @torch.inference_mode()
    def answers(self, question: str, request: Request) -> list[str | None]:
        """The sampled answers in the order in which they were drawn: yes, no, or None for neither.

        First tokens are drawn from one forward. One that is the word yes or no settles its answer; behind any other the
        answer is generated to its end.
        """
        scorer, tokenizer = self.exact.scorer, self.exact.prompter.tokenizer
        # The prompt leaves the thought open where the template opens one: it is the model's to end.
        inputs = scorer.prompt_inputs(question, request, closed=False)
        logits = scorer.model(**inputs, use_cache=False).logits[0, -1].float()
        self._forwards += 1
        with torch.random.fork_rng(devices=[scorer.device] if scorer.device.type == "cuda" else []):
            torch.manual_seed(_seed(question, request))
            first = torch.multinomial(logits.softmax(-1), self.samples, replacement=True).tolist()
            settled: dict[int, list[str | None]] = {}
            for token in dict.fromkeys(first):
                word, many = tokenizer.decode([token]).strip().lower(), first.count(token)
                if word in ("yes", "no"):
                    settled[token] = [word] * many
                elif token == tokenizer.eos_token_id:
                    settled[token] = [None] * many
                else:
                    sizes = [min(TOGETHER, many - start) for start in range(0, many, TOGETHER)]
                    texts = [text for size in sizes for text in self._continued(inputs, token, size)]
                    settled[token] = [concluded(text) for text in texts]
        return [settled[token].pop() for token in first]

    def _continued(self, inputs: dict[str, Any], token: int, many: int) -> list[str]:
        scorer, tokenizer = self.exact.scorer, self.exact.prompter.tokenizer
        made = scorer.model.generate(
            **scorer.extended(inputs, [token]),
            do_sample=True,
            temperature=1.0,
            top_k=0,
            top_p=1.0,
            num_return_sequences=many,
            max_new_tokens=self._longest,
            pad_token_id=tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id,
        )
        self._forwards += self._longest
        return tokenizer.batch_decode(made[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)


def _seed(question: str, request: Request) -> int:
    """Of the probe alone: what shares its batch changes nothing."""
    shown = b"" if request.image is None else request.image.tobytes()
    return int.from_bytes(hashlib.sha256(question.encode() + b"\0" + shown).digest()[:7], "big")
