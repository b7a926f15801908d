"""Start-up costs: what importing loads, and what a second process compiles."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

FIT = """
from numba.core import event
compiled = []

class Listener(event.Listener):
    def on_start(self, event): compiled.append(str(event.data["dispatcher"]))
    def on_end(self, event): pass

event.register("numba:compile", Listener())
import hashlib
import numpy as np
from dsekl import DSEKLClassifier, DSEKLRegressor
predictions = hashlib.sha256()
of_predictions = 0
X = np.random.default_rng(0).standard_normal((1200, 3))
y = X[:, 0] * X[:, 1]
for solver in ("dual", "doubly_stochastic", "shared_memory"):
    settings = dict(solver=solver, dtype="float32", max_epochs=2, tol=0.0, random_state=0)
    for model in (DSEKLClassifier(**settings).fit(X, y > 0), DSEKLRegressor(**settings).fit(X, y)):
        before = len(compiled)
        predictions.update(getattr(model, "decision_function", model.predict)(X).tobytes())
        model.predict(X[:1])
        of_predictions += len(compiled) - before
assert of_predictions == 0, "a prediction compiles what the fit has not"
print(predictions.hexdigest(), len(compiled), sorted(set(compiled)))
"""


def run(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **environment}
    )
    return done.stdout.strip()


def test_importing_the_package_loads_neither_scikit_learn_nor_numba() -> None:
    loaded = run("import sys, dsekl; print([name for name in ('sklearn', 'numba', 'scipy') if name in sys.modules])")
    assert loaded == "[]"


def test_the_second_process_compiles_nothing_and_makes_the_same_models(tmp_path: Path) -> None:
    model, compiled = run(FIT, NUMBA_CACHE_DIR=str(tmp_path)).split(" ", 1)
    assert not compiled.startswith("0 ")
    assert run(FIT, NUMBA_CACHE_DIR=str(tmp_path)) == f"{model} 0 []"
