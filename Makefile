# The vocabulary of this repository: demo test lint bench. Everything lives in .venv; nothing is installed elsewhere.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WORKERS ?= 2

.PHONY: demo test lint skill-lint bench clean

$(READY): pyproject.toml requirements-dev.txt
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 10) else "Python 3.10 or newer is needed: make PYTHON=python3.11 …")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade-strategy only-if-needed -r requirements-dev.txt
	$(BIN)/pip install --quiet --no-build-isolation --editable .
	touch $(READY)

demo: $(READY)
	$(BIN)/python examples/demo.py

test: $(READY)
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY)
	$(BIN)/python benchmarks/bench_run.py
	$(BIN)/python benchmarks/bench_startup.py
	$(BIN)/python benchmarks/bench_evidence.py
	$(BIN)/python benchmarks/bench_analysis.py

clean:
	rm -rf $(VENV) .opdebug .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
