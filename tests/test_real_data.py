"""What the solvers reach on real data; needs the folder that DSEKL_DATA names."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from dsekl import DSEKLClassifier
from dsekl.solvers import SharedMemory
from tests.problems import real_data

pytestmark = pytest.mark.slow


def test_algorithm_2_with_the_global_gradient_learns_covertype() -> None:
    data = real_data("covertype")
    chosen = np.random.default_rng(0).permutation(len(data["y"]))[:40_000]
    X, y = data["X"][chosen].astype(np.float32), data["y"][chosen] == 2
    X[:, :10] = StandardScaler().fit(X[:20_000, :10]).transform(X[:, :10])
    model = DSEKLClassifier(
        gamma=1.0, solver=SharedMemory(1000, 1000), max_epochs=1, tol=0.0, warm_start=True, random_state=0
    )
    errors = [1 - model.fit(X[:20_000], y[:20_000]).score(X[20_000:], y[20_000:]) for _ in range(8)]
    assert errors[0] < 0.20
    assert errors[-1] < 0.155


def test_dual_ascent_learns_skin_to_a_few_errors_in_ten_thousand() -> None:
    data = real_data("skin")
    order = np.random.default_rng(0).permutation(len(data["y"]))
    X, y = data["X"][order].astype(np.float32) / 255, data["y"][order]
    model = DSEKLClassifier(gamma=100.0, C=10.0, random_state=0).fit(X[20_000:], y[20_000:])
    assert model.stop_reason_ == "tol"
    assert 1 - model.score(X[:20_000], y[:20_000]) <= 0.0005
