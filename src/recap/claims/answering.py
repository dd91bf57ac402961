"""The yes or no that a free answer gives, in whatever words it goes on, and behind whatever thought."""

from __future__ import annotations

import re
import unicodedata

from recap.claims.parser import APOSTROPHES

HEAD = 200
"""characters at the beginning of an answer that can settle it"""
SENTENCE_STARTS = re.compile(
    r"a|an|as|based|because|both|he|i|in|it|it's|its|on|she|since|that|the|there|these|they|this|those", re.IGNORECASE
)
"""words that may follow a bare yes or no: "no the mug is …" answers, "no idea", "no mug is …" and "yes or no" do not"""
THOUGHT = re.compile(r"<(think|thinking|thought|reasoning)>.*?</\1>|\[THINK\].*?\[/THINK\]", re.DOTALL | re.IGNORECASE)
CLOSED = re.compile(r".*(?:</(?:think|thinking|thought|reasoning)>|\[/THINK\])", re.DOTALL | re.IGNORECASE)
"""a thought that the prompt opened and the answer ends"""
OPENED = re.compile(r"<(?:think|thinking|thought|reasoning)>|\[THINK\]", re.IGNORECASE)
CONCLUDED = re.compile(r"(?:final answer|answer)\s*(?:is)?\s*[:：]?\s*[*_\"“]*(yes|no)\b", re.IGNORECASE)


def yes_or_no(text: str) -> str | None:
    """The answer that a text begins with; None where it begins otherwise.

    >>> yes_or_no("**Yes**, the mug is left of the laptop."), yes_or_no("NO."), yes_or_no("No idea.")
    ('yes', 'no', None)
    """
    plain = re.sub(r"[*_`\"“”]", "", unicodedata.normalize("NFKC", text[:HEAD])).translate(APOSTROPHES)
    match = re.match(r"\W*(yes|no)(?![\w'/-])(.*)", plain, re.IGNORECASE | re.DOTALL)
    if match is None:
        return None
    answer, rest = match[1].lower(), match[2]
    bare = re.match(r"[^\S\n]+([\w'/-]*\w[\w'/-]*)", rest)
    return answer if bare is None or SENTENCE_STARTS.fullmatch(bare[1]) else None


def concluded(text: str) -> str | None:
    """The answer behind any thought: what the rest begins with, or the one answer that it names as such.

    >>> concluded("<think>Is it no? The mug is right.</think> Yes."), concluded("It is on top. Final answer: no")
    ('yes', 'no')
    >>> concluded("<think>I wonder whether yes") is None
    True
    """
    said = CLOSED.sub("", THOUGHT.sub("", text))
    if OPENED.search(said):  # cut off inside a thought: nothing was answered
        return None
    named = {each.lower() for each in CONCLUDED.findall(said)}
    return yes_or_no(said.strip()) or (named.pop() if len(named) == 1 else None)
