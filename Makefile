# Everything a person or a CI runs. `make` alone lists the targets.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup setup-dev run test check bench screenshots constraints

PY := .venv/bin/python
# What the checks read of Django needs a data folder, but no database.
CHECK_ENV := KB_DATA_DIR=$(CURDIR)/.venv/check DJANGO_SETTINGS_MODULE=kb_platform.settings.test DATABASE_URL= REDIS_URL=

help: ## This list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 22

setup: .venv/installed ## Make .venv with everything pinned

setup-dev: .venv/installed-dev ## The same, with what tests and checks need

run: setup ## Start the whole site; reads .env if there is one; Ctrl-C stops it
	@set -a; if [ -f .env ]; then . ./.env; fi; exec $(PY) manage.py up

test: setup-dev ## All tests: unit, then integration, then browser
	$(PY) -m pytest -n 2 --dist worksteal -m "not integration and not browser"
	$(PY) -m pytest -m integration
	$(PY) -m pytest -n 2 --dist loadfile -m browser

check: setup-dev ## Lint, types, import contracts, migrations, translations
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy .
	.venv/bin/lint-imports
	$(CHECK_ENV) $(PY) -W 'ignore:Got an error checking' manage.py makemigrations --check --dry-run
	$(CHECK_ENV) $(PY) manage.py check
	$(CHECK_ENV) $(PY) manage.py check_translations

bench: setup-dev ## Benchmarks; JSON to benchmarks/results/
	@for script in benchmarks/[a-z]*.py; do $(PY) -m benchmarks.$$(basename $$script .py) || exit 1; done

screenshots: setup-dev ## Pictures of every page, from a real site, to docs/screenshots/
	@$(CHECK_ENV) $(PY) -m docs.screenshots.take

constraints: setup-dev ## Pin what is installed now in constraints.txt, after a change of the requirements
	$(PY) -m pip freeze --exclude-editable | sed -E 's/\+cpu$$//' > constraints.txt

.venv/installed: requirements.txt constraints.txt | .venv/bin/python
	$(PY) -m pip install --disable-pip-version-check -q -r requirements.txt -c constraints.txt
	@touch $@

.venv/installed-dev: requirements-dev.txt .venv/installed
	$(PY) -m pip install --disable-pip-version-check -q -r requirements-dev.txt -c constraints.txt
	@touch $@

.venv/bin/python:
	@for candidate in $(PYTHON) python3.11 python3.12 python3.13 python3; do \
	  if $$candidate -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    $$candidate -c 'import ensurepip' 2>/dev/null || { echo "$$candidate has no ensurepip: install the package python3-venv" >&2; exit 1; }; \
	    echo "Making .venv with $$($$candidate --version); installing takes a few minutes, once"; \
	    exec $$candidate -m venv .venv; \
	  fi; \
	done; \
	echo "Python 3.11 or later is needed: install it, or name one, as in 'make setup PYTHON=/path/to/python3.11'" >&2; exit 1
