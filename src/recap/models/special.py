"""Special tokens in a question: whoever writes `<|im_end|>` or `<image>` in one speaks of it, and commands nothing.

Local and served prompts are made from the same words, so both break such a token in two with a space.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

LOOKS_SPECIAL = re.compile(r"<(?=[|/\w\uff5c\u2581][^<>\s]*>)|\[(?=/?[A-Z][A-Z_]*\])")
"""where `<image>`, `</s>`, `<|im_end|>`, `<｜User｜>` or `[INST]` begins"""


def plain_text(question: str, tokens: Iterable[str] = ()) -> str:
    """The question with everything that a tokenizer or processor would take for a special token made plain text.

    `tokens` are the tokenizer's own, where it is at hand: they may look like nothing special.
    """
    text = LOOKS_SPECIAL.sub(lambda opening: opening.group() + " ", question)
    for token in sorted((each for each in tokens if len(each) > 1), key=len, reverse=True):
        if token.strip() and token in text:
            text = text.replace(token, f"{token[0]} {token[1:]}")
    return text
