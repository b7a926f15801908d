"""Forged files of online models: loaded, asked for predictions, taught further rows, compacted and saved again."""

from __future__ import annotations

import json
import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import dsekl
from dsekl import (
    DSEKLClassifier,
    DSEKLRegressor,
    OnlineDSEKLAnomaly,
    OnlineDSEKLClassifier,
    OnlineDSEKLRegressor,
    kernels,
    losses,
)
from dsekl.estimators import files

from .forging import forged, genuine
from .models import SIDES, THREE, X, frame, of_model, refused

NAME = "online models"
COUNT = 10_000

SMALL: dict[str, Any] = dict(budget=12, random_state=0)
LARGE: dict[str, Any] = dict(budget=5_000, random_state=0)
"""Beyond the budgets of which all kernel values are held."""


def models() -> dict[str, tuple[Any, Any, Any]]:
    """Return machines that have seen nothing, rows and targets: every kind of learner, and every optional part."""
    texts, early = np.array(["left", "middle", "right"])[THREE], np.tile(X, (30, 1))
    return {
        "plain": (OnlineDSEKLClassifier(**SMALL), X, SIDES),
        "texts": (OnlineDSEKLClassifier(loss="logistic", C="auto", **SMALL), X, texts),
        "weights learned": (OnlineDSEKLClassifier(**SMALL), early, np.tile(SIDES, 30)),
        "never forgets": (OnlineDSEKLClassifier("laplacian", half_life=None, gamma=0.5, **SMALL), X, SIDES),
        "projecting": (OnlineDSEKLRegressor("matern32", maintenance="project", half_life=50, **SMALL), X, X[:, 0]),
        "polynomial": (OnlineDSEKLRegressor(kernels.Polynomial(2), gamma="scale", **SMALL), X, X[:, :2]),
        "quantile": (OnlineDSEKLRegressor(loss=losses.Quantile(0.3), gamma=[0.5, 2.0, 0.0], **SMALL), X, X[:, 0]),
        "anomaly": (OnlineDSEKLAnomaly(**SMALL), X, None),
        "large": (OnlineDSEKLClassifier(gamma=0.5, **LARGE), X, texts),
        "large regression": (OnlineDSEKLRegressor(**LARGE), np.tile(X, (60, 1)), np.tile(X[:, :2], (60, 1))),
    }


def prepare(folder: Path) -> None:
    """Save a machine of every kind, and some that batch models became."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, (machine, rows, targets) in models().items():
            labels = {"classes": np.unique(targets)} if isinstance(machine, OnlineDSEKLClassifier) else {}
            machine.partial_fit(rows, targets, **labels).save(folder / f"{name}.dsekl")
        OnlineDSEKLClassifier(**SMALL).fit(X, SIDES).compact(0.5).save(folder / "compact.dsekl")
        fixed: dict[str, Any] = dict(gamma=0.5, random_state=0, n_jobs=1)
        batch = DSEKLRegressor(trend=True, **fixed).fit(X, X[:, :2])
        OnlineDSEKLRegressor.from_model(batch, budget=12, random_state=0).save(folder / "trend.dsekl")
        reshaped = DSEKLClassifier(random_state=0, n_jobs=1).fit(np.tile(np.exp(2 * X), (4, 1)), np.tile(SIDES, 4))
        OnlineDSEKLClassifier.from_model(reshaped, budget=5_000).save(folder / "large, reshaped.dsekl")
        of_frame = DSEKLClassifier(**fixed).fit(frame(), SIDES)
        OnlineDSEKLClassifier.from_model(of_frame, budget=12, random_state=0).save(folder / "frame.dsekl")
        for name, (header, arrays) in genuine(folder).items():
            (folder / "forged").write_bytes(forged(header, arrays, random.Random(0), changes=0))
            assert not refused(
                lambda name=name: try_model(folder / "forged", name, random.Random(0)), folder / "forged"
            )


def trial(folder: Path, seed: int) -> str:
    rng = random.Random(seed)
    name = rng.choice(list(genuine(folder)))
    path = folder / "forged"
    try:
        path.write_bytes(forged(*genuine(folder)[name], rng, others=genuine(folder)))
    except RecursionError:
        return "refused"  # forged deeper than can be written
    told = refused(lambda: json.dumps(files.describe(path), allow_nan=False), path)
    return "refused" if refused(lambda: try_model(path, name, rng), path) or told else "right"


def try_model(path: Path, name: str, rng: random.Random) -> None:
    """Load a machine, and let it do what online machines do; it must stay one that can be saved."""
    machine = dsekl.load(path)
    rows = of_model(machine, frame()[:8]) if name == "frame" else X[:8]
    finite(machine, rows)
    if isinstance(machine, OnlineDSEKLAnomaly):
        machine.partial_fit(rows)
    elif isinstance(machine, OnlineDSEKLClassifier):
        machine.partial_fit(rows, machine.classes_[np.arange(8) % len(machine.classes_)])
    else:
        outputs = machine.learner_.n_outputs
        machine.partial_fit(rows, X[:8, 0] if machine._one_target else np.resize(X, (8, outputs)))
    predictions = finite(machine, rows)
    if rng.random() < 0.1:
        machine.save(path)
        np.testing.assert_array_equal(dsekl.load(path).predict(rows), predictions)
        finite(machine.compact(0.1), rows)


def finite(machine: Any, rows: Any) -> Any:
    """Return predictions, all of whose numbers are finite."""
    predictions = machine.predict(rows)
    assert len(predictions) == len(rows)
    for verb in ("decision_function", "predict_proba", "score_samples"):
        if hasattr(machine, verb):
            assert np.isfinite(getattr(machine, verb)(rows)).all(), verb
    if isinstance(machine, OnlineDSEKLRegressor):
        assert np.isfinite(predictions).all()
    assert np.isfinite(machine.dual_coef_).all()
    assert np.isfinite(machine.support_vectors_).all()
    return predictions
