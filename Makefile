# Every target does its own set-up: all it takes is git, make and a Python from 3.11 on.
SHELL := /bin/bash
.DELETE_ON_ERROR:
.SECONDARY:

BIN := .venv/bin
VERSIONS := 3.11 3.12 3.13 3.14
# Options for pytest, as in: make test ARGS='-k paths'
ARGS ?=
ROUNDS ?= 5
WORKLOADS ?=
# For the mutants: files or folders to mutate, and how many mutants of each file (all when empty).
ONLY ?= core builtin
SAMPLE ?=
SEED ?= 1
FRESH ?=
# How long to fuzz, all targets together.
SECONDS ?= 60
# For fuzz-import: how many files.
COUNT ?= 10000
# For judge-eval: the judge and where it is served, the data, how many items of each task, and a folder for its answers.
MODEL ?=
BASE_URL ?=
DATA ?=
LIMIT ?=
CACHE ?=

export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

.PHONY: help demo test test-all test-lowest lint format cov mutate mutate-again fuzz fuzz-import bench bench-import judge-eval refusal-eval docs clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: .venv/.stamp ## Replay 40 recorded airline-support conversations and report on them
	$(BIN)/python -m examples.airline_support $(ARGS)

test: .venv/.stamp ## Run the tests
	$(BIN)/pytest -n auto $(ARGS)

test-all: ## Run the tests on every Python of 3.11 to 3.14 that is installed (three at least)
	@found=(); for v in $(VERSIONS); do .ci/find-python $$v >/dev/null 2>&1 && found+=($$v); done; \
	if [ $${#found[@]} -lt 3 ]; then \
	  echo "test-all needs three of Python $(VERSIONS); installed: $${found[*]:-none}." >&2; exit 1; \
	fi; \
	outcome=(); code=0; for v in $${found[@]}; do \
	  if $(MAKE) --no-print-directory test-$$v; then outcome+=("$$v passed"); \
	  else outcome+=("$$v FAILED"); code=1; fi; \
	done; \
	printf 'Python %s\n' "$${outcome[@]}"; exit $$code

test-3.%: .venvs/3.%/.stamp
	.venvs/3.$*/bin/pytest -n auto $(ARGS)

# The anyio that goes with old libraries has a pytest plugin that new versions of pytest warn about.
test-lowest: .venvs/lowest/.stamp ## Run the tests with the lowest version of each library that is allowed
	PYTEST_ADDOPTS='-p no:anyio' .venvs/lowest/bin/pytest -n auto $(ARGS)

lint: .venv/.stamp ## Check style, types and the floors of the architecture
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --project .
	$(BIN)/lint-imports --no-logo

format: .venv/.stamp ## Put the code into shape
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

cov: .venv/.stamp ## Measure branch coverage: core/ and builtin/ must be above 95 %
	$(BIN)/pytest -n auto --cov --cov-report= $(ARGS)
	$(BIN)/coverage report
	@for room in core builtin; do \
	  $(BIN)/coverage json -q -o - --include="src/giskard/checks/$$room/*" \
	    | $(BIN)/python -c "$$branches_above_95" $$room || exit 1; \
	done

define branches_above_95
import json, sys
totals = json.load(sys.stdin)["totals"]
share = 100 * totals["covered_branches"] / totals["num_branches"]
print(f"{sys.argv[1]}/: {share:.1f} % of the branches (must be above 95 %)")
sys.exit(share <= 95)
endef
export branches_above_95

mutate: .venv/.mutmut ## Change the code in small ways: do tests fail? (ONLY=core/check_result.py SAMPLE=25 SEED=1)
	nice -n 19 $(BIN)/python tests/mutation/run.py $(ONLY) $(if $(SAMPLE),--sample $(SAMPLE)) --seed $(SEED)

mutate-again: .venv/.mutmut ## Run the survivors again; FRESH=1 to mutate also what runs on import (ONLY=core)
	nice -n 19 $(BIN)/python tests/mutation/run.py $(ONLY) --again $(if $(FRESH),--fresh)

.venv/.mutmut: .venv/.stamp
	@$(BIN)/pip install --quiet --disable-pip-version-check 'mutmut==3.8.1'
	@touch $@

fuzz: .venv/.atheris ## Look for odd texts and data that break a promise (SECONDS=60)
	nice -n 19 $(BIN)/python tests/fuzz/run.py --seconds $(SECONDS)

fuzz-import: .venv/.stamp ## Load 10,000 spoiled files of recorded conversations (COUNT=10000 SEED=1)
	nice -n 19 $(BIN)/python -m tests.importers.fuzzing --count $(COUNT) --seed $(SEED)

# Where there is no wheel of it, random bytes have to do.
.venv/.atheris: .venv/.stamp
	@$(BIN)/pip install --quiet --disable-pip-version-check --only-binary :all: 'atheris>=3.0' \
	  && touch $@ || echo "atheris is not to be had: random bytes have to do."

bench: .venv/.stamp ## Measure speed beside the bare loop (ROUNDS=5 WORKLOADS=W2,W3)
	$(BIN)/python -m benchmarks --rounds $(ROUNDS) $(if $(WORKLOADS),--workloads $(WORKLOADS))

bench-import: .venv/.stamp ## Stream a file of 1 GB of recorded conversations through checks (a minute; 1 GB in TMPDIR)
	$(BIN)/python -m benchmarks --workloads W10 --rounds 1 --scale 25 --json build/bench-import.json

judge-eval: .venv/.stamp ## Hold judges against people's labels (MODEL=ollama/llama3.2 DATA=folder LIMIT=100 CACHE=folder)
	@$(BIN)/python -m evals.judges --seed $(SEED) $(if $(MODEL),--model '$(MODEL)') $(if $(BASE_URL),--base-url '$(BASE_URL)') \
	  $(if $(DATA),--data '$(DATA)') $(if $(LIMIT),--limit $(LIMIT)) $(if $(CACHE),--cache '$(CACHE)') $(ARGS)

refusal-eval: .venv/.stamp ## Hold the refusal check that code decides against people's labels (DATA=file.csv)
	@$(BIN)/python -m evals.refusals $(DATA)

docs: .venv/.stamp ## Build the site of docs/ into build/site; a warning fails
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "Built build/site; to read it with its search: python3 -m http.server -b 127.0.0.1 -d build/site"

clean: ## Remove what the other targets made
	rm -rf .venv .venvs build dist .coverage* .pytest_cache .ruff_cache .import_linter_cache .hypothesis mutants
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

define install
	@echo "Setting up $(@D) (once) ..."
	@[ -x $(@D)/bin/pip ] || { python=$$(.ci/find-python $(1)) && "$$python" -m venv --clear $(@D); }
	@$(@D)/bin/pip install --quiet --disable-pip-version-check --editable '.[dev,docs,rego,http,llm,anthropic,embeddings,security,parquet,cassettes,lang,bleu,pii]' $(2)
	@touch $@
endef

.venv/.stamp: pyproject.toml src/giskard/checks/_version.py
	$(call install)

.venvs/3.%/.stamp: pyproject.toml src/giskard/checks/_version.py
	$(call install,3.$*)

.venvs/lowest/.stamp: pyproject.toml src/giskard/checks/_version.py .ci/lowest
	$(call install,,$$($(@D)/bin/python .ci/lowest))
