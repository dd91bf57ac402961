"""The two answers as tokens: resolved behind a real prompt, and summed by the chain rule where they are several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from recap.models.remote.contract import SAMPLE, Backend, ChatPrompt, EncodedImage, Query, Reply

Ids = tuple[int, ...]


@dataclass(frozen=True)
class Step:
    """One token of an answer: the text before it, and which tokens may stand there."""

    prefix: str
    yes: int | None
    no: int | None

    @property
    def ids(self) -> Ids:
        """The tokens to ask for, each once."""
        return tuple(dict.fromkeys(token for token in (self.yes, self.no) if token is not None))

    def margin(self, logprobs: Mapping[int, float]) -> float:
        """What this token adds to log p(yes) − log p(no)."""
        return (0.0 if self.yes is None else logprobs[self.yes]) - (0.0 if self.no is None else logprobs[self.no])


@dataclass(frozen=True)
class AnswerTokens:
    """Token ids of both continuations, and the queries that find their margin."""

    yes: Ids
    no: Ids
    steps: tuple[Step, ...]

    def queries(self, question: str, image: EncodedImage | None, by_name: bool = False) -> list[Query]:
        """One query per step."""
        return [Query(question, image, step.ids, step.prefix, by_name) for step in self.steps]

    def margin(self, replies: Sequence[Reply]) -> float:
        """log p(yes) − log p(no) from the replies to these queries."""
        return sum(step.margin(reply.logprobs) for step, reply in zip(self.steps, replies, strict=True))


async def resolve_answers(backend: Backend, prompt: ChatPrompt, answers: tuple[str, str]) -> AnswerTokens:
    """Both continuations as they come out behind a real prompt: the same ids as the local engine's for a checkpoint."""
    yes, no = [await _ids(backend, prompt, answer) for answer in answers]
    if not yes or not no or yes == no:
        raise backend.client.refusal(f"the server's tokenizer cannot tell {answers[0]!r} from {answers[1]!r}")
    # What both begin with cancels, so nothing is asked about it.
    shared = next((i for i, (a, b) in enumerate(zip(yes, no, strict=False)) if a != b), min(len(yes), len(no)))
    texts: dict[Ids, str] = {}
    choices: dict[Ids, dict[str, int]] = {}
    for side, ids, answer in (("yes", yes, answers[0]), ("no", no, answers[1])):
        for place in range(shared, len(ids)):
            texts[ids[:place]] = answer
            choices.setdefault(ids[:place], {})[side] = ids[place]
    steps = [
        Step(await _prefix(backend, prompt, before, texts[before]), choice.get("yes"), choice.get("no"))
        for before, choice in choices.items()
    ]
    return AnswerTokens(yes, no, tuple(steps))


async def _ids(backend: Backend, prompt: ChatPrompt, answer: str) -> Ids:
    base = prompt.ids
    joined = [] if prompt.text is None else await backend.tokens(prompt.text + answer, prompt.special)
    if joined[: len(base)] != base or len(joined) == len(base):
        # The tokenizer merges across the border (or trims): take the continuation by itself.
        joined = base + await backend.tokens(answer)
    return tuple(joined[len(base) :])


async def _prefix(backend: Backend, prompt: ChatPrompt, before: Ids, answer: str) -> str:
    """The beginning of an answer as text that the server reads as exactly these tokens behind the prompt."""
    if not before:
        return ""
    for end in range(1, len(answer) + 1):
        # A template may bring the space before an answer itself.
        for text in dict.fromkeys((answer[:end], answer[:end].lstrip())):
            if text and await backend.continued(SAMPLE, text) == prompt.ids + list(before):
                return text
    raise backend.client.refusal(
        f"the answer {answer!r} is several tokens, and the server cannot be made to go on after the first: "
        "its chat template must leave the assistant's last message open"
    )
