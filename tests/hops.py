"""How many files a reader goes through before the first step of a default fit.

``python -m tests.hops`` fits a small table with all defaults and prints every call from one file of dsekl into a
function of another, until the first step of the solver. A call counts once, however often it is made. Left out is what
nobody looks up: properties, special methods, lambdas, progress, and the modules ``blas``, ``compiled``, ``deadline``
and ``workers``.
The main line is the calls made by the estimator, the model, the run and the solver; the others are made within a
package that one hop of the main line has entered: the metric, the gram, a block of the dual.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from types import FrameType

import numpy as np

import dsekl
from dsekl import DSEKLClassifier

ROOT = Path(dsekl.__file__).parent
FIRST_STEP = "ActiveRows.step"
MAIN_LINE = ("estimators/", "models/", "runs/", "solvers/dual/ascent.py")
NOT_LOOKED_UP = (
    "blas.py", "compiled.py", "deadline.py", "workers.py", "runs/progress.py", "runs/displays.py", "runs/course.py",
    "models/forecast.py",
)  # fmt: skip

Hop = tuple[str, str, str]


def properties() -> set[str]:
    """Return the names of all properties."""
    return {
        node.name
        for path in ROOT.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and any("property" in ast.unparse(mark) for mark in node.decorator_list)
    }


def file_of(frame: FrameType) -> str | None:
    """Return the file of dsekl that a frame runs in."""
    path = Path(frame.f_code.co_filename)
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else None


def hops() -> list[Hop]:
    """Return the calls before the first step: the caller's file, the file that is called, and its function."""
    X = np.random.default_rng(0).normal(size=(300, 4))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    model = DSEKLClassifier(random_state=0, n_jobs=1).fit(X, y)  # compiles, and imports what is imported late
    quiet, found = properties(), dict[Hop, None]()

    def watch(frame: FrameType, event: str, argument: object) -> None:
        called = file_of(frame) if event == "call" else None
        if called is None:
            return
        name = frame.f_code.co_qualname
        if name == FIRST_STEP:
            sys.setprofile(None)
            return
        caller = frame.f_back
        while caller is not None and file_of(caller) is None:
            caller = caller.f_back
        last = name.rpartition(".")[2]
        special = last in quiet or "<" in name or (last.startswith("__") and last != "__init__")
        places = {str(file_of(caller)) if caller is not None else called, called}
        if len(places) == 2 and places.isdisjoint(NOT_LOOKED_UP) and not special:
            found[str(file_of(caller)), called, name] = None

    sys.setprofile(watch)
    model.fit(X, y)
    return list(found)


if __name__ == "__main__":
    everything = hops()
    main_line = [hop for hop in everything if hop[0].startswith(MAIN_LINE)]
    for caller, called, name in everything:
        print("  " * (not caller.startswith(MAIN_LINE)), f"{caller} -> {called}: {name}", sep="")
    print(
        f"{len(main_line)} hops on the main line, {len(everything)} in all, {len({hop[1] for hop in everything})} files"
    )
