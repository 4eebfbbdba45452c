# The verbs to remember. Nothing is needed beforehand but Python 3.11 and make.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help test check bench soak clean lock generate format

help: ## Show these verbs
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sort | awk 'BEGIN {FS = ":.*## "} {printf "  make %-10s %s\n", $$1, $$2}'

$(READY): requirements/dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; set PYTHON=/path/to/python3.11"; exit 1; }
	@echo "Setting up $(VENV) from requirements/dev.lock ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $(READY)

test: $(READY) ## Set everything up and run all the tests
	@$(BIN)/python -m pytest -n 2 --dist worksteal -m "not soak"

check: $(READY) ## Lint, types, layers, formatting
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

bench: $(READY) ## Measure against peers in one run; a quick look: make bench BENCH="--quick"
	@$(BIN)/python -m benchmarks $(BENCH)

soak: $(READY) ## The tests with the large counts: crashes, races, images
	@RECOLLECT_SOAK=1 $(BIN)/python -m pytest -m soak -o timeout=7200 --durations=0 $(SOAK)

format: $(READY) ## Format the code and fix what can be fixed
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

generate: $(READY) ## Write again what is generated: the synchronous API and the reference pages
	@$(BIN)/python tools/generate_sync.py
	@$(BIN)/python tools/generate_reference.py

lock: $(READY) ## Resolve the dependencies anew into requirements/dev.lock
	@$(BIN)/uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-header \
		--group test --group check --group bench --group build pyproject.toml -o requirements/dev.lock

clean: ## Remove everything that make made
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage build dist
