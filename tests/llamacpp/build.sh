#!/bin/sh
# llama.cpp's server from the source package of llama-cpp-python, on the CPU, into a folder that is kept: about 20 minutes of one core.
# What is there already is not made again, so a build that was stopped goes on.
#
# Two servers come of it. llama-server is the release as it is. llama-server-corrected differs in one expression: the LLaVA tower
# puts CLIP's class token behind the patches there, and then reads it as if it stood before them, so that every patch is
# taken for its neighbour. tests/llamacpp measures both.
set -eu
folder=$1 python=${2:-python3} version=0.3.36
mkdir -p "$folder" && cd "$folder"
source=llama_cpp_python-$version/vendor/llama.cpp
for tool in cmake c++; do
  command -v $tool >/dev/null || { echo "$tool is missing: apt-get install cmake g++" >&2; exit 1; }
done
[ -d gguf/gguf ] || "$python" -m pip install --quiet --disable-pip-version-check --no-deps --target gguf gguf==0.19.0
[ -f llama_cpp_python-$version.tar.gz ] ||
  "$python" -m pip download --quiet --disable-pip-version-check --no-binary :all: --no-deps llama-cpp-python==$version
[ -d llama_cpp_python-$version ] || tar xzf llama_cpp_python-$version.tar.gz
[ -f build/CMakeCache.txt ] || cmake -S $source -B build -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF \
  -DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG" -DCMAKE_C_FLAGS_RELEASE="-O2 -DNDEBUG" \
  -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_APP=OFF -DLLAMA_BUILD_UI=OFF -DLLAMA_USE_PREBUILT_UI=OFF \
  -DLLAMA_OPENSSL=OFF -DGGML_OPENMP=OFF >build.log 2>&1 || { tail -20 build.log >&2; exit 1; }
made() { # NAME, with the class token BEFORE or AFTER the patches
  cmake --build build --target llama-server --parallel 2 >>build.log 2>&1 || { tail -20 build.log >&2; exit 1; }
  cp build/bin/llama-server "$1.part" && mv "$1.part" "$1"
}
tower=$source/tools/mtmd/models/llava.cpp
theirs='ggml_concat(ctx0, inp, model.class_embedding, 1)' ours='ggml_concat(ctx0, model.class_embedding, inp, 1)'
swapped() { "$python" - "$tower" "$1" "$2" <<'PYTHON'
import sys
path, old, new = sys.argv[1:]
text = open(path).read()
if old in text:
    open(path, "w").write(text.replace(old, new))
PYTHON
}
[ -x llama-server ] || { swapped "$ours" "$theirs" && made llama-server; }
[ -x llama-server-corrected ] || { swapped "$theirs" "$ours" && made llama-server-corrected; }
touch .ready
