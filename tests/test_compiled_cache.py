"""The disk cache of compiled functions: what was compiled of other code or other constants is never run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dsekl.compiled import ingredients
from dsekl.online import callbacks, dual_steps, mixture_steps, odds, row_steps

MODULES = {
    "numbers_of": "SHARE = 0.25\nFAR = (1, 2)\n",
    "steps": """
from dsekl.compiled import inlined
from . import numbers_of

@inlined()
def step(x):
    return x * numbers_of.SHARE
""",
    "calls": """
from dsekl.compiled import njit
from .numbers_of import FAR
from .steps import step

@njit(cache=True)
def total(x):
    return step(x) + FAR[1]
""",
}
CALL = """
import sys
sys.path.insert(0, sys.argv[1])
from package.calls import total
value = total(4.0)
print(value, sum(total.stats.cache_hits.values()))
"""


def call(folder: Path) -> list[float]:
    """Call the function in a process of its own; return its value and whether it came from the cache."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")}
    command = [sys.executable, "-c", CALL, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return [float(word) for word in done.stdout.split()]


def test_a_constant_of_another_file_makes_the_function_anew(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    for name, text in {"__init__": "", **MODULES}.items():
        (package / f"{name}.py").write_text(text)
    assert call(tmp_path) == [3.0, 0]
    assert call(tmp_path) == [3.0, 1]
    changes = (("numbers_of", "0.25", "0.50", 4.0), ("numbers_of", "(1, 2)", "(1, 7)", 9.0), ("steps", "*", "+", 11.5))
    for name, old, new, value in changes:
        path = package / f"{name}.py"
        path.write_text(path.read_text().replace(f"{old}", f"{new}"))
        for cached in (package / "__pycache__").glob(f"{name}*.pyc"):
            cached.unlink()  # Python itself tells texts apart by time and size alone
        assert call(tmp_path) == [value, 0]
        assert call(tmp_path) == [value, 1]


@pytest.mark.parametrize(("module", "name"), [(mixture_steps, "RECENT"), (odds, "KEPT"), (row_steps, "NOW")])
def test_the_step_of_a_row_knows_the_constants_of_all_files(
    module: object, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, apart = ingredients(row_steps.take.py_func), ingredients(dual_steps.sweep.py_func)
    monkeypatch.setattr(module, name, 0.123)
    assert ingredients(row_steps.take.py_func) != before
    assert ingredients(dual_steps.sweep.py_func) == apart
    monkeypatch.undo()
    assert ingredients(row_steps.take.py_func) == before


def test_the_step_of_a_row_knows_how_functions_are_called_by_their_address(monkeypatch: pytest.MonkeyPatch) -> None:
    before = ingredients(row_steps.take.py_func)
    monkeypatch.setattr(callbacks, "_calling", 0.123)
    assert ingredients(row_steps.take.py_func) != before


INGREDIENTS = """
from numba.core.dispatcher import Dispatcher
from dsekl.compiled import ingredients
from dsekl.gram.loops import microtile, strips
from dsekl.kernels import elementary, stationary
from dsekl.online import row_steps
from dsekl.solvers.dual import block
for module in (microtile, strips, elementary, stationary, row_steps, block):
    for name, thing in sorted(vars(module).items()):
        if isinstance(thing, Dispatcher):
            print(module.__name__, name, ingredients(thing.py_func))
"""


def test_all_processes_have_the_same_key() -> None:
    """The order of a set, as of the options of a decorator, is not the same in all of them."""
    told = []
    for seed in ("1", "2", "3"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", INGREDIENTS]
        told.append(subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout)
    assert len(told[0].splitlines()) > 10
    assert told[0] == told[1] == told[2]
