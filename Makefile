# The vocabulary of this repository: demo test lint bench. Everything lives in .venv; nothing is installed elsewhere.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WORKERS ?= 2
SKILL := skills/ascend-operator-debug
SKILL_VENV := .venv-skill
SKILL_READY := $(SKILL_VENV)/.ready

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

# The validator and the scanner pull in much that nothing else needs, so they live apart. Nothing is looked up or sent.
$(SKILL_READY): requirements-skill.txt
	$(PYTHON) -m venv $(SKILL_VENV)
	$(SKILL_VENV)/bin/pip install --quiet -r requirements-skill.txt
	touch $(SKILL_READY)

skill-lint: $(SKILL_READY)
	find $(SKILL) -name __pycache__ -prune -exec rm -r {} +
	$(SKILL_VENV)/bin/agentskills validate $(SKILL)
	$(SKILL_VENV)/bin/skill-scanner scan $(SKILL) --format json --compact --use-behavioral --fail-on-severity info

bench: $(READY)
	$(BIN)/python benchmarks/bench_run.py
	$(BIN)/python benchmarks/bench_startup.py
	$(BIN)/python benchmarks/bench_evidence.py
	$(BIN)/python benchmarks/bench_analysis.py
	$(BIN)/python benchmarks/bench_skill.py

clean:
	rm -rf $(VENV) $(SKILL_VENV) .opdebug .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
