# `make demo` and `make test` do all set-up themselves: a virtual environment with pinned versions, made once.
PYTHON ?= python3
VENV ?= .venv
VLLM ?= .venv-vllm
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo reproduce test test-slow test-ray test-vllm test-page test-server test-faults test-released chromium check format bench bench-vllm cards clean

help:
	@echo "make demo       the whole story on the embedded world, with a page to look at"
	@echo "make test       the tests (set-up included)"
	@echo "make test-slow  theory tests over simulated worlds, and speed"
	@echo "make test-ray   the cluster engine on a Ray of its own (half a gigabyte of set-up)"
	@echo "make test-vllm  served models against a real vLLM on the CPU (3.5 GB of set-up)"
	@echo "make test-released  small checkpoints around released tokenizers, templates and processors, with torchvision and without"
	@echo "make test-page  the page in Debian's Chromium, which it installs where it may"
	@echo "make test-server, make test-faults   a service among strangers and under load; served models over a faulty line"
	@echo "make check      formatting, lint, types, imports between rooms"
	@echo "make bench      the statistics benchmarks"
	@echo "make bench-vllm token trees beside a real vLLM, probes per second (3.5 GB of set-up)"
	@echo "make reproduce  every table and figure of the paper on the embedded world, a quarter of an hour"
	@echo "make cards      the bundled models' figures and cards, from their checkpoints"
	@echo "make format     format the code"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "recap needs Python 3.11 or newer: make PYTHON=python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.local: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --editable '.[local]'
	@touch $@

$(VENV)/.eval: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --editable '.[local,eval]'
	@touch $@ $(VENV)/.local

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --editable '.[dev,local,server]'
	@touch $@ $(VENV)/.local $(VENV)/.eval

$(VENV)/.ray: $(VENV)/.dev
	$(PIP) --editable '.[dev,local,ray]'
	@touch $@

# torchaudio and torchcodec come along as CUDA builds that fail to import beside a CPU torch; nothing here needs them.
$(VLLM)/.ready: tests/vllm/requirements.txt
	$(PYTHON) -m venv $(VLLM)
	$(VLLM)/bin/python -m pip install --quiet --disable-pip-version-check --requirement tests/vllm/requirements.txt
	$(VLLM)/bin/python -m pip uninstall --quiet --yes torchaudio torchcodec
	@touch $@

# torchvision alone, to be put beside the environment for some tests; its CUDA build would not import there by itself.
$(VENV)/torchvision/.ready: | $(BIN)/python
	$(PIP) --no-deps --target $(VENV)/torchvision torchvision==0.28.0
	@touch $@

demo: $(VENV)/.local
	$(BIN)/recap demo --out recap-demo

reproduce: $(VENV)/.eval
	$(BIN)/recap reproduce --out recap-report

test: $(VENV)/.dev
	$(BIN)/pytest -m "not slow and not ray and not vllm and not page and not server and not faults and not released" -n 2

test-slow: $(VENV)/.dev
	$(BIN)/pytest -m slow -n 2

# One process: two Rays at once would mostly wait for each other.
test-ray: $(VENV)/.ray
	$(BIN)/pytest -m ray

# The server runs in its own environment, the tests in ours.
test-vllm: $(VENV)/.dev $(VLLM)/.ready
	RECAP_VLLM_PYTHON=$(abspath $(VLLM))/bin/python $(BIN)/pytest -m vllm

# One process: one server and one browser, for all tests of the page.
test-page: $(VENV)/.dev chromium
	$(BIN)/pytest -m page

# One process: time-outs are short there, and a busy machine would exceed them by itself.
test-faults: $(VENV)/.dev
	$(BIN)/pytest -m faults

# One process: what is measured here is the server's alone.
test-server: $(VENV)/.dev
	$(BIN)/pytest -m server -s

# One process: every model is made and measured once.
test-released: $(VENV)/.dev $(VENV)/torchvision/.ready
	OMP_NUM_THREADS=2 RECAP_TORCHVISION=$(abspath $(VENV))/torchvision $(BIN)/pytest -m released

chromium:
	@command -v chromium >/dev/null || { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; } \
	  || { echo "chromium is missing and apt-get could not install it: the tests of the page will be skipped" >&2; }

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks.bootstrap

bench-vllm: $(VENV)/.dev $(VLLM)/.ready
	PATH="$(abspath $(BIN)):$$PATH" RECAP_VLLM_PYTHON=$(abspath $(VLLM))/bin/python $(BIN)/python benchmarks/served.py $(OPTIONS)

cards: $(VENV)/.dev
	$(BIN)/python -m benchmarks.world

check: $(VENV)/.dev
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports

format: $(VENV)/.dev
	$(BIN)/ruff format src tests benchmarks
	$(BIN)/ruff check --fix src tests benchmarks

clean:
	rm -rf $(VENV) $(VLLM) recap-demo recap-report dist build .pytest_cache .ruff_cache .hypothesis
