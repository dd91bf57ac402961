# `make demo` and `make test` do all set-up themselves: a virtual environment with pinned versions, made once.
PYTHON ?= python3
VENV ?= .venv
VLLM ?= .venv-vllm
LLAMACPP ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/recap/llama.cpp-0.3.36
INTEGRATIONS ?= .venv-integrations
BIN := $(VENV)/bin
TOOLS ?= .venv-tools
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
# First every locked file, each held to its hash; then torch, by version alone (requirements/lock.sh says why), and this
# package itself. A lock that lacks something new (make lock writes it again) does not stop the set-up, but fails a test.
LOCKED = $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps --requirement
HERE = $(PIP) --no-build-isolation --editable

.DEFAULT_GOAL := help
.PHONY: help demo reproduce test test-slow test-ray test-vllm test-llamacpp test-integrations test-page test-server test-faults test-released test-notebooks notebooks docs chaos attacks audit lock dist test-dist chromium check format bench bench-vllm cards clean

help:
	@echo "make demo       the whole story on the embedded world, with a page to look at"
	@echo "make test       the tests (set-up included)"
	@echo "make test-slow  theory tests over simulated worlds, and speed"
	@echo "make test-ray   the cluster engine on a Ray of its own (half a gigabyte of set-up)"
	@echo "make test-vllm  served models against a real vLLM on the CPU (3.5 GB of set-up)"
	@echo "make test-llamacpp  served models against a real llama.cpp, built once (20 minutes of one core, kept in ~/.cache)"
	@echo "make test-integrations  plugins inside the tools they are for (3.4 GB of set-up)"
	@echo "make test-released  small checkpoints around released tokenizers, templates and processors, with torchvision and without"
	@echo "make test-page  the page in Debian's Chromium, which it installs where it may"
	@echo "make test-server, make test-faults   a service among strangers and under load; served models over a faulty line"
	@echo "make docs       the documentation site, in build/docs; make test-notebooks executes its notebooks, make notebooks stores what they print"
	@echo "make chaos      64 honest clients among hostile ones, for ten minutes (SECONDS_OF_CHAOS=600)"
	@echo "make attacks    what each known attack costs a running service: CPU, memory, seconds until /healthz answers"
	@echo "make audit      versions against known advisories; make lock writes the locks anew; make dist builds, with an SBOM"
	@echo "make check      formatting, lint, types, imports between rooms"
	@echo "make bench      the statistics benchmarks"
	@echo "make bench-vllm token trees beside a real vLLM, probes per second (3.5 GB of set-up)"
	@echo "make reproduce  every table and figure of the paper on the embedded world, nine minutes on two cores"
	@echo "make cards      the bundled models' figures and cards, from their checkpoints"
	@echo "make format     format the code"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "recap needs Python 3.11 or newer: make PYTHON=python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.local: pyproject.toml constraints.txt requirements/local.lock | $(BIN)/python
	$(LOCKED) requirements/local.lock
	$(HERE) '.[local]'
	@touch $@

$(VENV)/.eval: pyproject.toml constraints.txt requirements/eval.lock | $(BIN)/python
	$(LOCKED) requirements/eval.lock
	$(HERE) '.[local,eval]'
	@touch $@ $(VENV)/.local

$(VENV)/.dev: pyproject.toml constraints.txt requirements/dev.lock | $(BIN)/python
	$(LOCKED) requirements/dev.lock
	$(HERE) '.[dev,local,server]'
	@touch $@ $(VENV)/.local $(VENV)/.eval

# Only what the site needs beside the tests' own: no lock, for nothing of it is shipped or tested with.
$(VENV)/.docs: $(VENV)/.dev
	$(HERE) '.[dev,docs,local,server]'
	@touch $@

$(VENV)/.ray: $(VENV)/.dev
	$(LOCKED) requirements/ray.lock
	$(HERE) '.[dev,local,ray]'
	@touch $@

# torchaudio and torchcodec come along as CUDA builds that fail to import beside a CPU torch; nothing here needs them.
$(VLLM)/.ready: tests/vllm/requirements.txt
	$(PYTHON) -m venv $(VLLM)
	$(VLLM)/bin/python -m pip install --quiet --disable-pip-version-check --requirement tests/vllm/requirements.txt
	$(VLLM)/bin/python -m pip uninstall --quiet --yes torchaudio torchcodec
	@touch $@

# All hosts of our plugins, by version; this package as users install it, for Inspect names plugins of no other.
$(INTEGRATIONS)/.ready: requirements/integrations.txt $(TOOLS)/.ready
	$(PYTHON) -m venv $(INTEGRATIONS)
	$(INTEGRATIONS)/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --no-deps torch
	$(TOOLS)/bin/uv pip install --quiet --python $(INTEGRATIONS) --no-deps --requirement requirements/integrations.txt
	@touch $@

# torchvision alone, to be put beside the environment for some tests; its CUDA build would not import there by itself.
$(VENV)/torchvision/.ready: | $(BIN)/python
	$(PIP) --no-deps --target $(VENV)/torchvision torchvision==0.28.0
	@touch $@

demo: $(VENV)/.local
	$(BIN)/recap demo --out recap-demo

reproduce: $(VENV)/.eval
	$(BIN)/recap reproduce --out recap-report

# Tests of one file mostly stay in one process, where what they share is made once.
test: $(VENV)/.dev
	$(BIN)/pytest -m "not slow and not ray and not vllm and not llamacpp and not page and not server and not faults and not released and not chaos and not integrations" -n 2 --dist worksteal

test-slow: $(VENV)/.dev
	$(BIN)/pytest -m slow -n 2

# One process: two Rays at once would mostly wait for each other.
test-ray: $(VENV)/.ray
	$(BIN)/pytest -m ray

# The server runs in its own environment, the tests in ours.
test-vllm: $(VENV)/.dev $(VLLM)/.ready
	RECAP_VLLM_PYTHON=$(abspath $(VLLM))/bin/python $(BIN)/pytest -m vllm

# Built once, outside the checkout; a later run only starts it.
$(LLAMACPP)/.ready: tests/llamacpp/build.sh | $(BIN)/python
	tests/llamacpp/build.sh $(LLAMACPP) $(abspath $(BIN))/python

test-llamacpp: $(VENV)/.dev $(LLAMACPP)/.ready
	RECAP_LLAMACPP=$(LLAMACPP) $(BIN)/pytest -m llamacpp

# Each notebook in a kernel of its own, one after the other.
test-notebooks: $(VENV)/.dev
	$(BIN)/python docs/notebooks/execute.py

notebooks: $(VENV)/.dev
	$(BIN)/python docs/notebooks/execute.py --write

# A warning is an error: a link that leads nowhere, a docstring that cannot be read. Examples are run by the tests.
docs: $(VENV)/.docs
	$(BIN)/python -m sphinx --builder html --fail-on-warning --keep-going --fresh-env --quiet docs build/docs
	$(BIN)/pytest --quiet tests/docs/test_links.py tests/docs/test_site.py

# Hosts warn of what they themselves deprecate; that is theirs to change.
test-integrations: $(INTEGRATIONS)/.ready
	$(INTEGRATIONS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --force-reinstall .
	$(INTEGRATIONS)/bin/pytest -m integrations -W ignore tests/integrations

# One process: one server and one browser, for all tests of the page.
test-page: $(VENV)/.dev chromium
	$(BIN)/pytest -m page

# One process: time-outs are short there, and a busy machine would exceed them by itself.
test-faults: $(VENV)/.dev
	$(BIN)/pytest -m faults

# One process: what is measured here is the server's alone.
test-server: $(VENV)/.dev
	$(BIN)/pytest -m server -s

# One process, and nothing else meanwhile: latency is measured.
chaos: $(VENV)/.dev
	RECAP_CHAOS_SECONDS=$(or $(SECONDS_OF_CHAOS),600) $(BIN)/pytest -s tests/server/test_chaos.py -m chaos

attacks: $(VENV)/.dev
	$(BIN)/python -m tests.server.attacks $(OPTIONS)

# Tools for the supply chain, apart from what is tested.
$(TOOLS)/.ready:
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/python -m pip install --quiet --disable-pip-version-check build cyclonedx-bom pip-audit uv
	@touch $@

# The floors always; today's advisories where they can be reached.
audit: $(VENV)/.dev $(TOOLS)/.ready
	$(BIN)/python requirements/audit.py
	$(TOOLS)/bin/pip-audit --require-hashes --disable-pip --requirement requirements/server.lock \
	  || { test $$? -ne 1 && echo "pip-audit could not reach its advisories; the floors were checked" >&2; }

lock: $(TOOLS)/.ready
	UV=$(abspath $(TOOLS))/bin/uv requirements/lock.sh

# A wheel, a source archive, and a bill of materials (CycloneDX) of what a service is made of.
dist: $(TOOLS)/.ready
	rm -rf dist
	$(TOOLS)/bin/python -m build --outdir dist
	$(TOOLS)/bin/cyclonedx-py requirements requirements/server.lock --pyproject pyproject.toml --output-file dist/recap-vlm.cdx.json

# What a stranger installs: the wheel in an environment of its own, and the command that `uvx recap-vlm` would run.
test-dist: dist
	rm -rf build/wheel && $(PYTHON) -m venv build/wheel
	build/wheel/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt "$$(ls dist/*.whl)[local]"
	cd build && wheel/bin/recap-vlm demo --groups 40 --out wheel/demo

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
	$(BIN)/python -m benchmarks.self_checks

check: $(VENV)/.dev
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports

format: $(VENV)/.dev
	$(BIN)/ruff format src tests benchmarks
	$(BIN)/ruff check --fix src tests benchmarks

clean:
	rm -rf $(VENV) $(VLLM) $(INTEGRATIONS) $(TOOLS) recap-demo recap-report dist build .pytest_cache .ruff_cache .hypothesis
