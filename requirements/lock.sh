#!/usr/bin/env bash
# Writes the locks anew from pyproject.toml and constraints.txt: every file of every release, with its hash.
#
# torch and what it brings on GPU machines are left out: which build of torch is right (CPU, CUDA, ROCm) depends on the
# machine and its package index, and each has hashes of its own. It is installed by version (constraints.txt).
set -euo pipefail
cd "$(dirname "$0")/.."
UV=${UV:-uv}
lock() {
  local name=$1; shift
  "$UV" pip compile pyproject.toml requirements/build.in "$@" --constraint constraints.txt --universal \
    --python-version 3.11 --generate-hashes --no-annotate --no-header --quiet --no-emit-package torch --output-file "requirements/$name.lock.new"
  python3 - "requirements/$name.lock.new" "requirements/$name.lock" <<'PY'
import re, sys
source, target = sys.argv[1:]
text = open(source, encoding="utf-8").read()
kept = [block for block in re.split(r"\n(?=\S)", text.strip()) if not re.match(r"(nvidia-|cuda-|triton|pytorch-triton)", block)]
open(target, "w", encoding="utf-8").write("# Made by requirements/lock.sh; do not edit.\n" + "\n".join(kept) + "\n")
PY
  rm "requirements/$name.lock.new"
}
lock local --extra local
lock eval --extra local --extra eval
lock server --extra local --extra server
lock dev --extra dev --extra local --extra server
lock ray --extra dev --extra local --extra server --extra ray

# The hosts of our plugins want other versions than ours of what they share, so they have an environment of their own,
# by version. Left out: torchvision, of which the indexes' build fails beside a CPU torch, and bitsandbytes, for GPUs.
"$UV" pip compile pyproject.toml requirements/integrations.in --extra local --extra server --extra otel --extra inspect \
  --extra litellm --extra lm-eval --extra lmms-eval --extra lm-polygraph --extra mlflow --python-version 3.11 \
  --no-annotate --no-header --quiet --no-emit-package torch --no-emit-package torchvision \
  --no-emit-package bitsandbytes --output-file requirements/integrations.txt
sed -i -E '/^(nvidia-|cuda-|triton|pytorch-triton)/d; 1i # Made by requirements/lock.sh; do not edit.' requirements/integrations.txt
