# The verbs to remember. Nothing is needed beforehand but Python 3.11 and make.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
OPA    := $(VENV)/.opa
FERRET := $(VENV)/.ferretdb
MODEL  := src/recollect/backends/embedding/data/colbert-small/model.onnx
# What `make run` needs is a part of what the tests need, so either stamp will do for it.
RUN    := $(if $(wildcard $(READY)),$(READY),$(VENV)/.run)
DATA   := $(or $(RECOLLECT_HOME),.recollect)
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help run try test check bench soak clean lock generate table format

help: ## Show these verbs
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sort | awk 'BEGIN {FS = ":.*## "} {printf "  make %-10s %s\n", $$1, $$2}'

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; set PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -m venv $(VENV)

# The locks are complete, so nothing is resolved here: pip would take a newer release for a name with an extra.
$(VENV)/.run: requirements/run.lock pyproject.toml | $(BIN)/python
	@echo "Setting up $(VENV) from requirements/run.lock ..."
	@$(PIP) --no-deps --require-hashes -r requirements/run.lock
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

$(READY): requirements/dev.lock pyproject.toml | $(BIN)/python
	@echo "Setting up $(VENV) from requirements/dev.lock ..."
	@$(PIP) --no-deps --require-hashes -r requirements/dev.lock
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

# The model that the search by meaning needs, fetched once. Its tokenizer is put in place before it.
$(MODEL): | $(BIN)/python
	@$(BIN)/python tools/fetch_model.py

# A real OPA to compare with, built once; without Go, the tests that need it are skipped.
$(OPA): tests/policies/real_opa.py | $(READY)
	@$(BIN)/python -m tests.policies.real_opa
	@touch $@

# A server that speaks MongoDB's protocol, built once; without Go, the tests that need it are skipped.
$(FERRET): tests/engines/mongodb.py $(wildcard tests/engines/ferretdb/*) | $(READY)
	@$(BIN)/python -m tests.engines.mongodb
	@touch $@

run: $(RUN) $(MODEL) ## Set up and start the service, with its data in this folder; stop it with Ctrl-C
	@$(BIN)/recollect serve --home $(DATA) $(SERVE)

try: $(RUN) $(MODEL) ## Store a memory, read it, and see its timeline, with or without a running service
	@$(BIN)/recollect --home $(DATA) put user/me/notes first "I like my tea without sugar" && echo
	@$(BIN)/recollect --home $(DATA) get user/me/notes first && echo
	@$(BIN)/recollect --home $(DATA) log user/me

test: $(READY) $(MODEL) $(OPA) $(FERRET) ## Set everything up and run all the tests
	@$(BIN)/python -m pytest -n 2 --dist worksteal -m "not soak"

check: $(READY) ## Lint, types, layers, formatting
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

bench: $(READY) $(MODEL) ## Measure against peers in one run; a quick look: make bench BENCH="--quick"
	@$(BIN)/python -m benchmarks $(BENCH)

soak: $(READY) $(MODEL) $(OPA) $(FERRET) ## The tests with the large counts: crashes, races, images
	@RECOLLECT_SOAK=1 $(BIN)/python -m pytest -m soak -o timeout=7200 --durations=0 $(SOAK)

format: $(READY) ## Format the code and fix what can be fixed
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

generate: $(READY) ## Write again what is generated: the synchronous API and the reference pages
	@$(BIN)/python tools/generate_sync.py
	@$(BIN)/python tools/generate_client.py
	@$(BIN)/python tools/generate_access.py
	@$(BIN)/python tools/generate_tools.py
	@$(BIN)/python tools/generate_grpc.py
	@$(BIN)/python tools/generate_reference.py

table: $(READY) $(FERRET) ## Run the contracts on every backend and LangGraph store, and write the tables of what each keeps
	@$(BIN)/python tools/generate_backends.py
	@$(BIN)/python -m tools.generate_langgraph

lock: $(READY) ## Resolve the dependencies anew into requirements/*.lock
	@$(COMPILE) --group build -o requirements/run.lock
	@$(COMPILE) --group test --group check --group bench --group build --group tools -o requirements/dev.lock

COMPILE = $(BIN)/uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-header pyproject.toml

clean: ## Remove everything that make made
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage build dist
