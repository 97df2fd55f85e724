# Thin on purpose: every target is one command that can be typed by hand.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null || echo .build/uv/bin/uv)
PREFIX ?= 512,1024,2048
PAIRS ?= 3
STEPS ?= 100000

.DEFAULT_GOAL := help
.PHONY: help setup demo test up fmt lint synth bench-ttft soak-freshness bench-history lock schemas clean

help:  ## what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(VENV)/.ready  ## make .venv from the pinned, hashed export

.build/uv/bin/uv:
	$(PYTHON) -m venv .build/uv
	.build/uv/bin/pip install --quiet uv

$(VENV)/.ready: .ci/requirements.txt pyproject.toml | $(UV)
	@$(PYTHON) -c 'import sys; sys.exit("preheat needs Python 3.11 or newer; name one with PYTHON=python3.x" if sys.version_info < (3, 11) else 0)'
	$(UV) venv --quiet --clear --python $(PYTHON) $(VENV)
	$(UV) pip sync --quiet --python $(BIN)/python --require-hashes .ci/requirements.txt
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

demo: setup  ## the main job: session start to a warm first token, against the same work cold
	$(BIN)/preheat demo

up: setup  ## the local stack, until Ctrl-C
	$(BIN)/preheat up

test: setup lint  ## every check and test
	$(BIN)/pytest

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/mypy

fmt: setup  ## format and mend what can be mended
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

synth: setup  ## the CloudFormation templates, offline, into .build/cdk.out
	$(BIN)/python -m infra.app

bench-ttft: OUT ?= .build/bench-ttft.json
bench-ttft: setup  ## cold against warm, ours against the engine's own ratio
	$(BIN)/python -m tests.benchmarks.ttft --out $(OUT) --prefix $(PREFIX) --pairs $(PAIRS)

bench-history: OUT ?= .build/bench-history.json
bench-history: setup  ## evidence recalled into a budget, preferences never stale: TRAIN=dir TEST=dir OUT=file.json
	$(BIN)/python -m tests.benchmarks.history --train $(TRAIN) --test $(TEST) --out $(OUT)

soak-freshness: setup  ## random users, faults and time against the freshness promise, for STEPS steps
	STEPS=$(STEPS) $(BIN)/pytest -q -s -m long tests/protocol

schemas: setup  ## write events/schemas from the models
	$(BIN)/python -m infra.local.schemas

lock:  ## resolve again and write the two exports
	$(UV) lock --upgrade
	$(UV) export -q --frozen --no-emit-project --group dev --no-header --no-annotate -o .ci/requirements.txt
	$(UV) export -q --frozen --no-emit-project --no-dev --no-header --no-annotate -o layers/dependencies/requirements.txt

clean:  ## remove what was built
	rm -rf $(VENV) .build
