# Two commands for people: `make run` does the main job, `make test` checks everything.
# Each sets up what it needs by itself, from Python 3.11 or newer and make alone.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
DB     ?= phasewalk.db
WALK   := $(BIN)/phasewalk --config examples/phasewalk.toml --db $(DB)

export PIP_CONSTRAINT := constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: run test check bench clean

run: $(VENV)/installed
	@echo "Feeding a chat export of a small server through the machine, offline."
	@$(WALK) feed examples/help-server.json
	@echo
	@$(BIN)/phasewalk --db $(DB) status || true
	@echo
	@echo "Try next:"
	@echo "  $(BIN)/phasewalk show last                    what happened in the newest turn"
	@echo "  $(BIN)/phasewalk list --outcome unavailable   which turns could not be served"
	@echo "  $(BIN)/phasewalk turn \"note: buy milk\"       walk a turn yourself"

test: check
	@$(BIN)/python -m pytest -n 2 -q

check: $(VENV)/developing build/typed/phasewalk
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy -p phasewalk

bench: $(VENV)/installed
	@$(BIN)/python bench/log_writer.py

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "phasewalk needs Python 3.11 or newer; say which with: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -m venv $(VENV)

$(VENV)/installed: $(VENV)/bin/python pyproject.toml constraints.txt
	@echo "Setting up $(VENV) (once)."
	@$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/developing: $(VENV)/bin/python pyproject.toml constraints.txt
	@echo "Setting up $(VENV) with the tools of development (once)."
	@$(BIN)/python -m pip install --quiet --editable ".[dev]"
	@touch $@ $(VENV)/installed

# mypy reads the packages under their import names through these links.
build/typed/phasewalk:
	@mkdir -p $@
	@for part in machine phases storage surfaces; do ln -sfn ../../../$$part $@/$$part; done

clean:
	@rm -rf $(VENV) build
