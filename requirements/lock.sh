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
