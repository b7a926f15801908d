"""What a sample cannot choose: kernel, scale of columns, width and C, by whole regions of all rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("distributed", reason="dask is not installed: pip install 'dsekl[dask]'")

from dsekl import DSEKLClassifier, losses
from dsekl.dask.width import refined
from dsekl.estimators.labels import wrong
from dsekl.estimators.units import NO_UNIT
from dsekl.gram.placement import Placement
from dsekl.kernels import RBF
from dsekl.models import Examples, Machine
from dsekl.parts import Objective, Planes, Region, Rows, SerialExecutor
from dsekl.rows import ArrayRows, Reshaping
from dsekl.rows.reshaping import ranked
from dsekl.runs import Run, Settled

HINGE = losses.Hinge()


def chosen(X: Any, y: Any, gamma: float, reshaping: Reshaping | None = None, **given: Any) -> Settled:
    """Return what whole regions of two parts choose, where a tenth of the rows has chosen gamma and a scale."""
    machine: Machine = DSEKLClassifier(**given)._machine(None, NO_UNIT)
    targets, rng = np.where(y, 1.0, -1.0)[:, None], np.random.default_rng(0)
    few = np.sort(rng.permutation(len(X))[: len(X) // 10])
    sample = Examples(ArrayRows(X[few]), targets[few], np.ones(len(few)), few, wrong, y[few].astype(int))
    knots: dict[str, Any] = {}
    if reshaping is not None:
        knots = dict(scale=reshaping.name, knots=reshaping.knots, values=reshaping.values)
    weights = np.full(X.shape[1], gamma)
    settled = Settled(weights, 1.0, "equal", kernel="rbf", randomness=rng.bit_generator.state, **knots)
    placement = Placement.of(RBF(), weights, ArrayRows(X), "float32", reshaping)
    objective = Objective(RBF(), placement, HINGE, 1.0, 1e-6, 2**26)
    rows, points = Rows(X, targets, np.ones(len(X)), np.arange(len(X))), placement.dense(X)
    number = Planes.of(points, 2).part_of(points)
    regions = [Region.of(p, objective, [rows.take(np.flatnonzero(number == p))]) for p in range(2)]
    return refined(SerialExecutor(), regions, machine, sample, settled, HINGE, len(X), Run(0))


def waves(tail: float) -> tuple[Any, Any]:
    """Return rows whose first column decides by its logarithm over ``tail``; a large one makes heavy tails."""
    rng = np.random.default_rng(3)
    z = rng.normal(size=(4_000, 2))
    return np.exp(tail * z) if tail else z, np.sin(3 * z[:, 0]) > 0


def test_the_scale_of_columns_is_chosen_at_full_density() -> None:
    X, y = waves(2.0)
    assert chosen(X, y, 0.01).scale in ("squashed", "ranked")
    assert chosen(X, y, 0.01, kernel="rbf").scale is None  # columns stay as they are for a kernel that is named
    X, y = waves(0.0)
    assert chosen(X, y, 1.0, ranked(ArrayRows(X))).scale is None  # nothing is gained without heavy tails


def test_the_kernel_is_chosen_at_full_density() -> None:
    X = np.random.default_rng(1).uniform(size=(4_000, 6))
    cornered = np.abs(X - 0.5).sum(axis=1) > 1.5
    assert chosen(X, cornered, 10.0).kernel == "laplacian"
    assert chosen(X[:, :2], X[:, 0] + X[:, 1] > 1, 10.0).kernel != "laplacian"
    named = chosen(X, cornered, 10.0, kernel="rbf", C=2.0)
    assert (named.kernel, named.C) == (None, 2.0)
