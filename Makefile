# Two commands a newcomer needs: `make demo` and `make test`. Both set up what they need first.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PARALLEL := --numprocesses=3 --dist=loadgroup

.PHONY: bench help demo down test test-fast check fmt env env-dev pins clean compose docs

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

$(VENV)/.uv: requirements/bootstrap.txt
	@echo "specwatch: making $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -c 'import sys; ok = (3, 11) <= sys.version_info < (3, 15); sys.exit(None if ok else "specwatch needs Python 3.11-3.14; pass PYTHON=/path/to/python3.12")'
	@$(PYTHON) -m venv $(VENV) || { echo "specwatch: python3-venv is missing (Debian: apt-get install python3-venv)" >&2; exit 3; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/bootstrap.txt
	@touch $@

$(VENV)/.system: $(VENV)/.uv requirements/system.txt pyproject.toml
	@echo "specwatch: installing requirements/system.txt (about 900 MB)"
	@VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/uv pip install --quiet --compile-bytecode --require-hashes -r requirements/system.txt
	@VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/uv pip install --quiet --no-build-isolation --no-deps -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.system requirements/dev.txt
	@echo "specwatch: installing requirements/dev.txt"
	@VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/uv pip install --quiet --compile-bytecode --require-hashes -r requirements/dev.txt
	@touch $@

env: $(VENV)/.system ## the environment of the running system
env-dev: $(VENV)/.dev ## the same with test tools

demo: env ## the whole system on this machine, one real sweep, the dashboard
	@exec $(BIN)/specwatch demo

down: ## end everything `make demo` or `specwatch up` started
	@$(BIN)/specwatch down

test: env-dev ## everything, real vLLM for CPU included (about 12 minutes on 2 cores)
	@$(BIN)/python -m pytest $(PARALLEL) --cov --cov-report=json

test-fast: env-dev ## without Airflow, browser and real vLLM
	@$(BIN)/python -m pytest $(PARALLEL) -m "not system and not browser and not real_vllm"

check: env-dev ## linters, types, layers, SQL, schema, secrets: under a minute
	@$(BIN)/python -m checks

fmt: env-dev ## mend what a machine can mend
	@$(BIN)/ruff check --fix-only --quiet . && $(BIN)/ruff format --quiet . && $(BIN)/sqlfluff fix --quiet --disable-progress-bar sql

bench: env-dev ## measure bars: make bench NAME=cli (lines in bench-results/)
	@test -n "$(NAME)" || { echo "which? make bench NAME=$$(ls tests/bench | sed -n 's/\.py$$//p' | grep -v -e __init__ -e bars -e warehouse_ -e client_ | paste -sd'|')" >&2; exit 2; }
	@$(BIN)/python -m tests.bench.$(NAME)

compose: env-dev ## rewrite docker-compose.yml from the services that `specwatch up` starts
	@$(BIN)/python -m tools.compose

docs: env-dev ## rewrite what of docs/ is made from the code
	@$(BIN)/python -m tools.docs

clean: ## remove the environment and everything the system made (engines, models, runs, database)
	@[ ! -x $(BIN)/specwatch ] || $(BIN)/specwatch down
	rm -rf $(VENV) .specwatch

pins: $(VENV)/.uv ## rewrite requirements/*.txt from pyproject.toml (add UPGRADE=1 for newer versions)
	@bash requirements/export.sh $(BIN)/uv $(if $(UPGRADE),--upgrade,)
