"""The river classes: river's own checks, and streams whose features and classes come up late."""

from __future__ import annotations

import gc
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest

river = pytest.importorskip("river", reason="river is not installed: pip install 'dsekl[river]'")

from river import checks  # noqa: E402

from dsekl.river import KernelAnomalyDetector, KernelClassifier, KernelRegressor  # noqa: E402

MODELS = [KernelClassifier(), KernelRegressor(), KernelAnomalyDetector()]


class CardsLike:
    """Rows in the form of river's CreditCard, which its wheel does not have: thirty numbers, few frauds, far out."""

    def take(self, n: int) -> list[tuple[dict[str, float], int]]:
        rng = np.random.default_rng(0)
        fraud = rng.random(n) < 0.02
        rows = rng.standard_normal((n, 30)) * np.where(fraud, 4.0, 1.0)[:, None]
        names = [f"V{k}" for k in range(30)]
        return [
            (dict(zip(names, row, strict=True)), int(label)) for row, label in zip(rows.tolist(), fraud, strict=True)
        ]


@pytest.fixture
def _no_downloads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("river.datasets.CreditCard", CardsLike)


@pytest.mark.usefixtures("_no_downloads")
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_river_accepts(model: Any) -> None:
    for check in checks.yield_checks(model):
        check(model.clone())


def test_a_model_refers_to_nothing_of_the_compiler() -> None:
    """River counts memory by all that an object refers to; the compiler's own objects are the process's."""
    model = KernelClassifier(seed=1)
    for k in range(20):
        model.learn_one({"a": float(k), "b": float(k % 3)}, k % 2 == 0)
    seen: dict[int, object] = {}
    pending: list[object] = [model]
    while pending:
        thing = pending.pop()
        if id(thing) not in seen and not isinstance(thing, type | ModuleType | FunctionType):
            seen[id(thing)] = thing
            pending += gc.get_referents(thing)
    assert not [thing for thing in seen.values() if type(thing).__module__.startswith(("numba", "llvmlite"))]
