"""The one error a user may see: a single clear line that says what was wrong, where, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from operator import ne

CONTROLS = dict.fromkeys([*range(0x20), *range(0x7F, 0xA0)], "\N{REPLACEMENT CHARACTER}")
"""characters that a terminal obeys rather than shows: a file's words may hold escapes that set its title or worse"""


def printable(text: str) -> str:
    """The text on one line, with nothing in it that a terminal would obey."""
    return " ".join(text.split()).translate(CONTROLS)


class RecapError(ValueError):
    """Bad input, told in one line. The command line prints it and exits with code 2."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


MOST_COMPARED, LONGEST_COMPARED = 1000, 200
"""words, and letters of one, beyond which no slip is looked for"""


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
    names = list(known)
    if len(names) > MOST_COMPARED or len(word) > LONGEST_COMPARED:
        return ""  # comparing takes longer than a hint is worth
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.75)
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
