# draftproof. `make demo` is the first thing to try, `make test` checks everything.
PYTHON ?= python3
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help demo learn test test-full check web chromium model bench dist clean

help:       ## list the commands
	@grep -E '^[a-z-]+: .*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 14

demo:       ## decode on a real model, with the worked table and the proof
	@$(PYTHON) scripts/bootstrap.py openvino
	@$(BIN)/draftproof setup
	@$(BIN)/draftproof demo

learn:      ## open the interactive lesson in the browser
	@$(PYTHON) scripts/bootstrap.py all
	@$(BIN)/python scripts/build_web.py
	@$(BIN)/draftproof learn

test:       ## every check and test, with the real model and the browser
	@$(PYTHON) scripts/bootstrap.py dev
	@$(MAKE) --no-print-directory -j4 model chromium web check
	@$(BIN)/python scripts/run_tests.py

test-full:  ## the larger matrices too; records the result in docs/test-full.md
	@$(PYTHON) scripts/bootstrap.py dev
	@$(MAKE) --no-print-directory -j3 model chromium web
	@$(BIN)/python scripts/run_tests.py --full

check:      ## style, types and layers
	@echo "draftproof: style, types, layers"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-timeout 2>/dev/null || $(BIN)/lint-imports

model:      ## fetch and prepare the default model
	@$(BIN)/draftproof setup

chromium:   ## the browser for the browser tests, where apt can bring it
	@$(BIN)/python scripts/install_chromium.py

web:        ## build the lesson page's assets
	@$(BIN)/python scripts/build_web.py --packages

bench:      ## print every figure of speed and memory; installs the peers
	@$(PYTHON) scripts/bootstrap.py dev,bench
	@$(MAKE) --no-print-directory model
	@for file in benchmarks/*.py; do echo "== $$file"; $(BIN)/python $$file || exit 1; done
	@$(BIN)/python scripts/benchmarks.py

dist:       ## build the wheel and the sdist
	@$(PYTHON) scripts/bootstrap.py dev
	@$(BIN)/python -m pip install --quiet build
	@$(BIN)/python -m build

clean:      ## remove what was built here (the user's cache folder stays)
	rm -rf .venv build dist src/draftproof/lesson/static web/node_modules
