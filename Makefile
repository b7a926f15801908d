# Set-up needs Python 3.11 or newer and make; everything else is installed into .venv from pyproject.toml.
PYTHON ?= python3
BIN := .venv/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo docs site test suite test-all test-floors test-newest fuzz bench lint clean

# A marker per extra: a change of pyproject.toml installs again, nothing else does.
.venv/.installed-%: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable '.[$*]'
	touch $@

demo: .venv/.installed-demo  ## the paper's XOR problem, and two real tables against scikit-learn: out/demo.png
	$(BIN)/python examples/demo.py

docs: .venv/.installed-docs  ## the site, in build/docs/index.html; the examples are run, warnings are errors
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet --jobs auto -d build/doctrees docs build/docs

site: .venv/.installed-test docs  ## the site, and a browser (chromium, if there is one) that looks at all of its pages
	$(BIN)/python -m pytest -n auto -m site tests/test_site.py

test: .venv/.installed-test  ## everything that CI runs, side by side
	touch .venv/.installed-docs  # what tests need includes it
	$(MAKE) --jobs lint suite site

suite: .venv/.installed-test
	$(BIN)/python -m tests.warm_up  # or each worker would compile the same functions
	$(BIN)/python -m pytest -n auto -m "not slow and not site"

test-all: .venv/.installed-test lint  ## the slow tests too; those on real data need DSEKL_DATA
	$(BIN)/python -m pytest -n auto -m "not site"

test-floors:  ## the tests with the oldest versions that pyproject.toml allows, in an environment of their own
	$(PYTHON) -m venv --clear build/floors
	$(PYTHON) .ci/floors.py > build/floors/constraints.txt
	build/floors/bin/pip install --quiet --constraint build/floors/constraints.txt --editable '.[suite]'
	NUMBA_CACHE_DIR=build/floors/numba build/floors/bin/python -m tests.warm_up
	NUMBA_CACHE_DIR=build/floors/numba build/floors/bin/python -m pytest -n auto -m "not slow and not site" tests

test-newest:  ## the tests with the newest versions that there are, in an environment of their own
	$(PYTHON) -m venv --clear build/newest
	build/newest/bin/pip install --quiet --upgrade --editable '.[suite]'
	NUMBA_CACHE_DIR=build/newest/numba build/newest/bin/python -m tests.warm_up
	NUMBA_CACHE_DIR=build/newest/numba build/newest/bin/python -m pytest -n auto -m "not slow and not site" tests

fuzz: .venv/.installed-test  ## forged files and kills by the thousand: FUZZ="--seed 1 --scale 0.1 --only checkpoints"
	$(BIN)/python -m tests.fuzz $(FUZZ)

lint: .venv/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/.installed-bench  ## benchmarks against rivals, alone on the machine; BEFORE="--before OTHER/src"
	$(BIN)/python benchmarks/gram.py
	$(BIN)/python benchmarks/algorithms.py
	$(BIN)/python benchmarks/exact.py
	$(BIN)/python benchmarks/seconds.py measure $(BEFORE)
	$(BIN)/python benchmarks/seconds.py panel $(BEFORE)
	$(BIN)/python benchmarks/seconds.py publish
	$(BIN)/python benchmarks/time_left.py
	$(BIN)/python benchmarks/cost.py measure
	$(BIN)/python benchmarks/cost.py profile
	$(BIN)/python benchmarks/cost.py publish
	$(BIN)/python benchmarks/stopping.py
	$(BIN)/python benchmarks/streams.py
	$(BIN)/python benchmarks/certificates.py
	$(BIN)/python benchmarks/tables.py
	$(BIN)/python benchmarks/panel.py measure all
	$(BIN)/python benchmarks/panel.py publish
	$(BIN)/python benchmarks/curves.py measure
	$(BIN)/python benchmarks/curves.py publish
	$(BIN)/python benchmarks/matrix.py
	$(BIN)/python benchmarks/large_data.py
	$(BIN)/python benchmarks/claim.py measure
	$(BIN)/python benchmarks/claim.py draw
	$(BIN)/python benchmarks/pages.py

clean:
	rm -rf .venv build dist docs/gallery docs/api/generated .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
