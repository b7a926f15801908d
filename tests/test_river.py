"""The river classes: river's own checks, and streams whose features and classes come up late."""

from __future__ import annotations

import gc
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest

river = pytest.importorskip("river", reason="river is not installed: pip install 'dsekl[river]'")

from river import checks, metrics  # noqa: E402

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


@pytest.mark.parametrize(
    ("x", "y", "w", "words"),
    [
        ({"a": 1.0}, None, 1.0, "label is None"),
        ({"a": 1.0}, float("nan"), 1.0, "label is nan"),
        ({"a": 1.0}, "u", -1.0, "weight is -1.0"),
        ({"a": 1.0}, "u", float("inf"), "weight is inf"),
        ({}, "u", 1.0, "feature"),
        ({"a": [1.0]}, "u", 1.0, "'a'"),
        ({"a": 1e200}, "u", 1.0, "'a'"),
    ],
)
def test_bad_rows_are_named_and_teach_nothing(x: Any, y: Any, w: float, words: str) -> None:
    model = KernelClassifier(seed=1)
    assert model.predict_proba_one({"a": 1.0}) == {}
    with pytest.raises(ValueError, match=words):
        model.learn_one(x, y, w)
    assert model.n_seen == 0
    assert model.predict_one({"a": 1.0}) is None


def test_targets_that_are_no_numbers_are_named() -> None:
    model = KernelRegressor(seed=1)
    for y in (None, "much", float("inf"), 1e200):
        with pytest.raises(ValueError, match="target is"):
            model.learn_one({"a": 1.0}, y)
    assert model.predict_one({"a": 1.0}) == 0.0


@pytest.mark.parametrize("classes", [1, 2, 4])
def test_the_class_that_is_predicted_is_the_likeliest(classes: int) -> None:
    model = KernelClassifier(seed=1, budget=20)
    for place, (a, b) in enumerate(np.random.default_rng(0).standard_normal((200, 2)).tolist()):
        row = {"a": a, "b": b}
        if place:
            chances = model.predict_proba_one(row)
            assert model.predict_one(row) == max(chances, key=lambda label: chances[label])
        model.learn_one(row, f"class {int(abs(3 * a)) % classes}")


def test_a_missing_number_is_as_usual_and_a_new_one_is_taken_in() -> None:
    model = KernelClassifier(seed=1, budget=50)
    rng = np.random.default_rng(0)
    for place, (a, b) in enumerate(rng.standard_normal((600, 2)).tolist()):
        row = {"a": a, "b": b} if place >= 200 else {"a": a}
        model.learn_one({**row, "c": float("nan")} if place % 3 == 0 else row, a > 0 if place < 200 else b > 0)
    assert model.predict_one({"b": 2.0}) is True
    assert model.predict_one({"b": -2.0, "unknown": 7.0}) is False


def test_outliers_that_are_alike_stay_outliers() -> None:
    rng, detector, scores = np.random.default_rng(0), KernelAnomalyDetector(seed=1, budget=50), metrics.ROCAUC()
    for place, (a, b) in enumerate(rng.standard_normal((1500, 2)).tolist()):
        strange = place > 100 and rng.random() < 0.05
        x = {"a": a + 6.0 * strange, "b": b}
        scores.update(strange, detector.score_one(x))
        detector.learn_one(x)
    assert scores.get() > 0.85


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("seed", range(4))
def test_a_class_that_comes_late_warns_of_nothing(seed: int) -> None:
    rng, model = np.random.default_rng(seed), KernelClassifier(seed=1, budget=10)
    for place, (a, b) in enumerate(rng.standard_normal((200, 2)).tolist()):
        model.learn_one({"a": a, "b": b}, place // 30)
    assert len(model.predict_proba_one({"a": 0.0})) == 7


def test_frames_say_what_is_missing_in_their_own_way() -> None:
    import pandas as pd

    frame = pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64"), "b": pd.array(["u", None, "w"], dtype="string")})
    model, single = KernelClassifier(seed=1), KernelClassifier(seed=1)
    model.learn_many(frame, pd.Series([1, 0, 1]))
    for x, y in (({"a": 1, "b": "u"}, 1), ({"a": None, "b": None}, 0), ({"a": 3, "b": "w"}, 1)):
        single.learn_one(x, y)
    assert model.predict_proba_one({"a": 2}) == single.predict_proba_one({"a": 2})
    with pytest.raises(ValueError, match="label is None"):
        model.learn_many(frame, pd.Series([1, None, 1], dtype="Int64"))


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
