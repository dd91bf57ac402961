"""How each documented command is checked: what stands in for its placeholders, and which commands are not run, and why.

A command that no rule covers fails its test; nothing is skipped.
"""

from __future__ import annotations

import re
import shlex

STAND_INS = {
    "MODEL": "world:aligned",
    "Qwen/Qwen3-VL-8B-Instruct": "world:aligned",
    "DATASET": "mine.jsonl",
    "TABLE": "table.jsonl",
    "FILE": "kept.db",
    "DIR": "made",
    "ARCH": "tiny",
    "N": "4096",
    "NAME": "confidence",
    "TEXT": "Is the mug on the table?",
    "URL": "http://127.0.0.1:9/v1",
    "/data/pictures": ".",
    "…": "",
    "...": "",
}
"""placeholder → what the test types instead"""

SMALLER = (
    (r"^recap demo\b", "--groups 40"),
    (r"^recap probe world:", "--limit 24"),
    (r"^recap bench\b", "--arch tiny --images 2"),
    (r"^recap evaluate\b", "--splits 3"),
    (r"^recap compare\b", "--draws 50"),
    (r"^recap calibrate\b.* --risk-at-most\b", "--risk-at-most 0.5"),
    (r"^recap plan\b", "--risk-at-most 0.5 --units 24"),
    (r"^recap serve\b", "--port 0"),
    (r"^recap captions\b", "--count 80"),
)
"""options that make a command take seconds; they replace its own"""

ONLY_PARSED = (
    (r"^recap serve\b", "runs until it is stopped; the fixture `service` starts it for the documented requests"),
    (r"^recap (probe|reproduce)\b.* --engine ray\b", "needs Ray; make test-ray runs it"),
    (r"https?://", "needs a server; make test-vllm and tests/models/remote run it"),
    (r"^recap data unpack\b", "needs the official files; tests/datasets/test_official.py runs it on small ones"),
    (
        r"^recap (data stats|probe) (blink|cv-bench|embspatial)\b",
        "needs the official files; see tests/datasets/test_official.py",
    ),
    (
        r"^recap probe vsr\b",
        "needs VSR's photographs; tests/photo/test_suite.py probes its statements with pictures of noise",
    ),
    (r"^recap data fetch\b", "needs the network; tests/datasets fetches from a site of its own"),
    (r"^recap reproduce\b(?!.* --list\b)", "takes minutes; tests/cli/test_reproduce.py and make test-slow run it"),
    (r"^recap bench\b.* --arch (?!tiny)", "needs a GPU"),
    (r"^recap bench\b.* --compiled\b", "needs a GPU and a minute of compiling"),
    (r"^recap calibrate\b.* --repair\b", "few units can promise no correction; tests/cli/test_repair.py runs it"),
    (r"--compile\b", "needs a GPU and a minute of compiling"),
)
"""commands whose options are checked against the real command line, and which are not run: pattern, reason"""

LAYOUTS = ("data/vsr/ ", "data/whatsup/ ", "data/gsr/ ", "each ")
"""indented lines that list files rather than commands"""

OTHERS_OPTIONS = {
    "--logprobs-mode": "vLLM",
    "--max-model-len": "vLLM",
    "--served-model-name": "vLLM",
    "--mmproj": "llama.cpp",
    "--log_samples": "lm-eval",
    "--force_simple": "lmms-eval",
    "--full": "benchmarks/cluster.py",
    "--minutes": "recap.photo.training",
    "--steps": "recap.photo.training",
    "--grow": "recap.photo.training",
    "--times": "recap.photo.training.difference",
    "--layers": "benchmarks/domain.py",
}
"""options in the text that belong to other programs"""


def words(command: str) -> list[str]:
    """A command as the test types it: placeholders replaced."""
    found: list[str] = []
    for word in shlex.split(command):
        name, _, value = word.partition("=")
        if value in STAND_INS and name.startswith("--"):
            found.append(f"{name}={STAND_INS[value]}")
        elif STAND_INS.get(word, word):
            found.append(STAND_INS.get(word, word))
    for at, word in enumerate(found[:-1]):  # where official files are read, a small set of them
        if word == "--root" and found[at + 1] == STAND_INS["DIR"]:
            found[at + 1] = f"data/{found[found.index('data') + 2] if 'data' in found else found[2]}"
    return found


def smaller(argv: list[str]) -> list[str]:
    """The same with options that keep it short."""
    text, argv = " ".join(argv), list(argv)
    for pattern, more in SMALLER:
        if re.search(pattern, text):
            for option, value in zip(more.split()[::2], more.split()[1::2], strict=True):
                if option in argv:
                    del argv[argv.index(option) : argv.index(option) + 2]
                argv += [option, value]
    return argv


def why_only_parsed(argv: list[str]) -> str | None:
    """Why a command is not run; None where it is."""
    return next((reason for pattern, reason in ONLY_PARSED if re.search(pattern, " ".join(argv))), None)
