# `make demo` and `make test` do all the set-up they need: Python >= 3.11, git and make are enough.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
STAMP := $(VENV)/.installed

.PHONY: help ready test quick demo docs clean

help:
	@echo 'make demo    run the main job on the shipped transcripts (DEMO_DIR=folder to choose where)'
	@echo 'make test    every check, as CI runs them'
	@echo 'make ready   only the set-up that these do'
	@echo 'make quick   the checks that need no model'
	@echo 'make docs    write the generated pages of docs/'
	@echo 'make clean   remove the environment and what the checks leave behind'

# installed again only when the dependencies change
$(STAMP): pyproject.toml scripts/constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo '$(PYTHON) is older than 3.11: make PYTHON=python3.12 ...'; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || \
		{ echo 'no virtual environment could be made (Debian: apt-get install python3-venv)'; exit 1; }
	@echo 'installing nightly-memory and its tools into $(VENV)'
	@$(PIP) install --quiet --constraint scripts/constraints.txt --editable '.[dev]'
	@touch $@

ready: $(STAMP)
	@scripts/blas

test: ready
	@VENV=$(VENV) scripts/check

quick: $(STAMP)
	@VENV=$(VENV) scripts/check --quick

demo: ready
	@VENV=$(VENV) scripts/demo

docs: $(STAMP)
	@$(BIN)/python scripts/docs.py

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
