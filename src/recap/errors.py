"""The one error a user may see: a single clear line that says what was wrong, where, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from operator import ne


class RecapError(ValueError):
    """Bad input, told in one line. The command line prints it and exits with code 2."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))


class RecapWarning(UserWarning):
    """Input that is taken, though something about it is probably not meant. The command line prints it as a notice."""


def reason(error: OSError) -> str:
    """Why the operating system refused, in a few lower-case words."""
    return (error.strerror or str(error)).lower()


def misspelt(word: str, known: Iterable[str]) -> str | None:
    """The known word that this one is a slip of: letters swapped, one wrong or missing. A longer word is another."""
    for other in known:
        if word != other and (
            (len(word) == len(other) and (sorted(word) == sorted(other) or sum(map(ne, word, other)) == 1))
            or (len(word) + 1 == len(other) and any(other[:i] + other[i + 1 :] == word for i in range(len(other))))
        ):
            return other
    return None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean "label"?` when a known word is close to this one, else nothing."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.75)
    return f'; did you mean "{close[0]}"?' if close else ""


def one_of(word: str, known: Iterable[str], what: str) -> None:
    """Complain unless the word is a known one: `"rays" is not an engine; did you mean "ray"? (local, ray)`."""
    names = list(known)
    if word not in names:
        raise RecapError(f'"{word}" is not {what}{did_you_mean(word, names)} ({", ".join(names)})')


def quoted(text: str, limit: int = 80) -> str:
    """The text in quotes, on one line, cut where it is long: errors stay one readable line."""
    flat = " ".join(text.split())
    return f'"{flat}"' if len(flat) <= limit else f'"{flat[: limit - 1]}…"'
