# The two commands of a new user are `make demo` and `make test`; each makes .venv itself.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check -q

.PHONY: demo test lint bench long clean

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "driver-study needs Python 3.11 or newer; $(PYTHON) is older. Try: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.runtime: $(VENV)/.made pyproject.toml
	$(PIP) install -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime
	$(PIP) install -e '.[dev]'
	@touch $@

demo: $(VENV)/.runtime  ## the predeclared comparison of protocols/: run, verdict, report, figure
	@$(BIN)/study run protocols/goal-vs-resolver.toml; code=$$?; echo "study run exited with $$code"; \
	  test $$code -ne 2 -a $$code -ne 3 -a $$code -lt 5

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

test: lint
	$(BIN)/python -m pytest -n 2 -m "not long"

bench: $(VENV)/.dev
	$(BIN)/python tests/benchmarks/ratios.py
	$(BIN)/python tests/benchmarks/resampling.py
	PYTHONPATH=. $(BIN)/python tests/benchmarks/running.py

long: $(VENV)/.dev
	$(BIN)/python -m pytest -m "long" -p no:randomly

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis .import_linter_cache
