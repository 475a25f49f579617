# Each target creates .venv itself; nothing else has to be installed by hand.
PYTHON ?= python3
BIN := .venv/bin
DEMO ?= demo

.PHONY: demo test coverage check attacks soak fuzz licences mutants clean
demo: .venv/.installed
	$(BIN)/visterm demo $(DEMO)

test: .venv/.installed-dev check
	$(BIN)/pytest -n auto

# Which lines the tests run. Tracing them takes half as long again, so `make test` does without.
coverage: .venv/.installed-dev
	$(BIN)/pytest --cov --cov-report=term -n auto

check: .venv/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Attacks on the real program, at length; docs/robustness.md says what each does. `make test` runs short samples.
N ?= 100000
MINUTES ?= 15
POINTS ?= 500
CUTS ?= 2000
SEQUENCES ?= 10000
attacks: .venv/.installed-dev
	$(BIN)/python tests/attacks/kills.py --points $(POINTS)
	$(BIN)/python tests/attacks/kills.py --points 200 --errors
	$(BIN)/python tests/attacks/powercuts.py --cuts $(CUTS)
	$(BIN)/python tests/attacks/model.py -n $(SEQUENCES)
	$(BIN)/python tests/attacks/model.py -n 20 --seed 1 --steps 8 --processes
	$(BIN)/python tests/attacks/large_pictures.py
	$(BIN)/python tests/attacks/determinism.py
	$(MAKE) fuzz soak

soak: .venv/.installed-dev
	$(BIN)/python tests/attacks/soak.py --minutes $(MINUTES)

fuzz: .venv/.installed-dev
	$(BIN)/python tests/attacks/fuzz.py -n $(N)

licences: .venv/.installed
	$(BIN)/python tests/attacks/licences.py

# Small changes that no test notices: make mutants ARGS="--packages margin --sample 40 --seed 1"
mutants: .venv/.installed-dev
	$(BIN)/python tests/tools/mutants.py $(ARGS)

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/.installed: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

.venv/.installed-dev: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@ .venv/.installed

clean:
	rm -rf .venv demo htmlcov .coverage
