"""Run the self-check of every bundled checkpoint and keep what it found beside it: python -m benchmarks.self_checks."""

from __future__ import annotations

import argparse

from recap.errors import RecapError
from recap.models.load import SELF_CHECK
from recap.models.local import LocalModel
from recap.models.self_check import record_check
from recap.photo.bundled import MODELS as PHOTO_MODELS
from recap.schemes import scheme_of
from recap.world.bundled import MODELS as WORLD_MODELS

NAMES = (*(f"world:{name}" for name in WORLD_MODELS), *(f"photo:{name}" for name in PHOTO_MODELS))


def main() -> None:
    """One line for each checkpoint that is there."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    for name in NAMES:
        scheme = scheme_of(name)
        assert scheme is not None
        try:
            folder = scheme.checkpoint_folder(name)
        except RecapError as error:
            print(error)
            continue
        model = LocalModel.load(str(folder), dtype="float32", device="cpu", called=name, plain=True)
        found = record_check(folder / SELF_CHECK, model.scorer, model.identity.revision)
        print(f"{name}: {found.way}, off by {found.difference}")


if __name__ == "__main__":
    main()
