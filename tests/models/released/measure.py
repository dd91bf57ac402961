"""What a checkpoint gives, as one JSON line per model: run in a process of its own, with torchvision or without.

python -m tests.models.released.measure FOLDER...
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
from PIL import Image

SIZES = ((640, 480), (300, 420))
QUESTIONS = (
    "Is the mug to the left of the laptop?",
    "Is the mug to the right of the laptop?",
    "Is the cat on the table?",
)


def picture(size: tuple[int, int]) -> Image.Image:
    noise = np.random.default_rng(size[0]).integers(0, 256, (size[1] // 8, size[0] // 8, 3), dtype=np.uint8)
    return Image.fromarray(noise).resize(size)


def measure(folder: str) -> dict[str, Any]:
    from recap.models.contract import Request
    from recap.models.local import LocalModel

    model = LocalModel.load(folder, dtype="float32", device="cpu")
    requests = [Request(picture(size), QUESTIONS) for size in SIZES]
    prompter = model.prompter
    together = prompter.together(requests)
    unexpanded = len(prompter.tokens(prompter.prompt(QUESTIONS[0], True)))
    placeholder = prompter.tokens(prompter.prompt(QUESTIONS[0], True))
    image_id = getattr(prompter.processor, "image_token_id", None)
    return {
        "way": model.way,
        "processor": type(prompter.pictures.part).__name__,
        "answers": [list(ids) for ids in prompter.answers],
        "image_tokens": [rows[0].count(image_id) for rows in together.sequences],
        "expanded": [len(rows[0]) - unexpanded for rows in together.sequences],
        "placeholders": placeholder.count(image_id),
        "estimated": [model.size(size, 0) - model.size(None, 0) for size in SIZES],
        "tree": model.scorer.tree(together),
        "plain": [model.scorer.plain(request) for request in requests],
        "digest": model.identity.digest,
    }


if __name__ == "__main__":
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    for place in sys.argv[1:]:
        print(json.dumps({"folder": place} | measure(place)), flush=True)
