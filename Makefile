# `make demo` and `make test` do all set-up themselves: a virtual environment with pinned versions, made once.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo reproduce test test-slow check format bench cards clean

help:
	@echo "make demo       the whole story on the embedded world, with a page to look at"
	@echo "make test       the tests (set-up included)"
	@echo "make test-slow  theory tests over simulated worlds, and speed"
	@echo "make check      formatting, lint, types, imports between rooms"
	@echo "make bench      the statistics benchmarks"
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
	$(PIP) --editable '.[dev,local]'
	@touch $@ $(VENV)/.local $(VENV)/.eval

demo: $(VENV)/.local
	$(BIN)/recap demo --out recap-demo

reproduce: $(VENV)/.eval
	$(BIN)/recap reproduce --out recap-report

test: $(VENV)/.dev
	$(BIN)/pytest -m "not slow" -n 2

test-slow: $(VENV)/.dev
	$(BIN)/pytest -m slow -n 2

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/statistics.py

cards: $(VENV)/.dev
	$(BIN)/python benchmarks/world.py

check: $(VENV)/.dev
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports

format: $(VENV)/.dev
	$(BIN)/ruff format src tests benchmarks
	$(BIN)/ruff check --fix src tests benchmarks

clean:
	rm -rf $(VENV) recap-demo recap-report dist build .pytest_cache .ruff_cache .hypothesis
