# Everything goes into .venv beside this file; nothing else on the machine is changed.
PYTHON ?= python3
BIN := .venv/bin
FULL ?= 0

.PHONY: demo test prove bench lint docs wheel clean

demo: .venv/installed
	$(BIN)/audit demo

test: .venv/installed lint
	$(BIN)/python -m pytest -q -n 2

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo >/dev/null || $(BIN)/lint-imports

# The long lane. CI runs what fits in 30 minutes; FULL=1 runs the counts of the issues and writes docs/measured/.
prove: .venv/installed
	$(BIN)/python tools/prove.py $(if $(filter 1,$(FULL)),--full)

bench: .venv/installed
	$(BIN)/python bench/figures.py

docs: .venv/installed
	$(BIN)/python tools/references.py

wheel: .venv/installed
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

.venv/installed: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, this is " + sys.version.split()[0] + "; name one with PYTHON=…")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	PYTHONWARNINGS=ignore $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

clean:
	rm -rf .venv build dist *.egg-info
