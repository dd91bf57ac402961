"""The two answers as tokens: resolved behind a real prompt, and summed by the chain rule where they are several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from recap.errors import RecapError
from recap.models.remote.contract import SAMPLE, Ask, Backend, Chat, Picture, Said

Ids = tuple[int, ...]


@dataclass(frozen=True)
class Step:
    """One place of an answer: what is said before it, and which tokens may stand there."""

    said: str
    yes: int | None
    no: int | None

    @property
    def ids(self) -> Ids:
        """The tokens to ask for, each once."""
        return tuple(dict.fromkeys(token for token in (self.yes, self.no) if token is not None))

    def margin(self, logprobs: Mapping[int, float]) -> float:
        """What this place adds to log p(yes) − log p(no)."""
        return (0.0 if self.yes is None else logprobs[self.yes]) - (0.0 if self.no is None else logprobs[self.no])


@dataclass(frozen=True)
class Answers:
    """Token ids of both continuations, and the requests that find their margin."""

    yes: Ids
    no: Ids
    steps: tuple[Step, ...]

    def asks(self, question: str, picture: Picture | None, by_name: bool = False) -> list[Ask]:
        """The requests, one for each place."""
        return [Ask(question, picture, step.ids, step.said, by_name) for step in self.steps]

    def margin(self, said: Sequence[Said]) -> float:
        """log p(yes) − log p(no) from what came back."""
        return sum(step.margin(each.logprobs) for step, each in zip(self.steps, said, strict=True))


async def resolve(backend: Backend, chat: Chat, answers: tuple[str, str], where: str) -> Answers:
    """Both continuations as they come out behind a real prompt: the same ids as the local engine's for a checkpoint."""
    yes, no = [await _ids(backend, chat, answer) for answer in answers]
    if not yes or not no or yes == no:
        raise RecapError(f"{where}: the server's tokenizer cannot tell {answers[0]!r} from {answers[1]!r}")
    # What both begin with cancels, so nothing is asked about it.
    shared = next((i for i, (a, b) in enumerate(zip(yes, no, strict=False)) if a != b), min(len(yes), len(no)))
    steps: dict[Ids, dict[str, int]] = {}
    for side, ids in (("yes", yes), ("no", no)):
        for place in range(shared, len(ids)):
            steps.setdefault(ids[:place], {})[side] = ids[place]
    texts = {**_beginnings(yes, answers[0]), **_beginnings(no, answers[1])}
    spoken = {before: await _spoken(backend, chat, before, texts[before], where) for before in steps}
    return Answers(
        yes, no, tuple(Step(spoken[before], next_.get("yes"), next_.get("no")) for before, next_ in steps.items())
    )


async def _ids(backend: Backend, chat: Chat, answer: str) -> Ids:
    base = chat.ids
    joined = [] if chat.text is None else await backend.tokens(chat.text + answer, chat.special)
    if joined[: len(base)] != base or len(joined) == len(base):
        # The tokenizer merges across the border (or trims): take the continuation by itself.
        joined = base + await backend.tokens(answer)
    return tuple(joined[len(base) :])


def _beginnings(ids: Ids, answer: str) -> dict[Ids, str]:
    return {ids[:place]: answer for place in range(len(ids))}


async def _spoken(backend: Backend, chat: Chat, before: Ids, answer: str, where: str) -> str:
    """The beginning of an answer as text that the server reads as exactly these tokens behind the prompt."""
    if not before:
        return ""
    wanted = chat.ids + list(before)
    for end in range(1, len(answer) + 1):
        # A template may bring the space before an answer itself.
        for said in dict.fromkeys((answer[:end], answer[:end].lstrip())):
            if said and await backend.continued(SAMPLE, said) == wanted:
                return said
    raise RecapError(
        f"{where}: the answer {answer!r} is several tokens, and the server cannot be made to go on after the first: "
        "its chat template must leave the assistant's last message open"
    )
