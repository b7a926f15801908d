"""Early stopping and warm starts on Dask, as on one machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

pytest.importorskip("distributed", reason="dask is not installed: pip install 'dsekl[dask]'")

import dask.array as da
from distributed import Client, LocalCluster

from dsekl import DSEKLClassifier
from dsekl.dask import DaskDSEKLClassifier, DaskDSEKLRegressor, LocalUpdates
from tests.on_dask import FINE, GAMMA, LABELS, ROWS, SETTINGS, UP, WAVE, C, X, same_bits

HELD_OUT: dict[str, Any] = {**SETTINGS, "tol": 1e-9, "C": 100.0, "early_stopping": True, "n_iter_no_change": 2}


def test_rows_are_held_out_and_the_best_round_is_kept(client: Client, tmp_path: Path) -> None:
    model = DaskDSEKLClassifier(**HELD_OUT).fit(ROWS, UP)
    assert model.stop_reason_ == "validation"
    assert len(model.validation_rows_) == 200
    assert not np.isin(model.support_, model.validation_rows_).any()
    errors = [record["validation_error"] for record in model.history_]
    assert len(errors) == np.argmin(errors) + 1 + 2
    held_out, labels = X[model.validation_rows_], LABELS[model.validation_rows_]
    at_home = model.to_local()
    assert 1 - at_home.score(held_out, labels) == pytest.approx(min(errors), abs=1e-9)
    local = DSEKLClassifier(**{name: HELD_OUT[name] for name in HELD_OUT if name != "n_parts"}).fit(X, LABELS)
    assert at_home.score(X, LABELS) == pytest.approx(local.score(X, LABELS), abs=0.03)
    assert np.abs(model.predict_proba(ROWS).compute() - local.predict_proba(X)).mean() < 0.1
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as other:
        same_bits(model, clone(model).set_params(client=other.get_client()).fit(ROWS, UP))


def test_a_checkpoint_has_the_best_round_so_far(client: Client, tmp_path: Path) -> None:
    settings = {**HELD_OUT, "n_iter_no_change": 8}
    whole = DaskDSEKLClassifier(**settings).fit(ROWS, UP)
    kept = {**settings, "checkpoint": tmp_path / "c.dsekl", "checkpoint_interval": 0}
    DaskDSEKLClassifier(**kept, max_epochs=7).fit(ROWS, UP)
    for _ in range(2):  # the second time it has come to its end
        same_bits(whole, DaskDSEKLClassifier(**kept).fit(ROWS, UP))


def test_algorithm_2_and_regression_hold_rows_out_too(client: Client) -> None:
    solver = LocalUpdates(n_rows=200, local_batches=2)
    settings: dict[str, Any] = {**SETTINGS, "solver": solver, "early_stopping": True, "max_epochs": 3}
    assert "validation_error" in DaskDSEKLClassifier(**settings).fit(ROWS, UP).history_[-1]
    y = da.from_array(100.0 + 7.0 * WAVE, chunks=600)
    model = DaskDSEKLRegressor(**{**HELD_OUT, "validation_fraction": 150}).fit(ROWS, y)
    held_out = model.validation_rows_
    residuals = model.to_local().predict(X[held_out]) - (100.0 + 7.0 * WAVE)[held_out]
    assert len(held_out) == 150
    assert np.sqrt(np.mean(residuals**2)) == pytest.approx(min(r["validation_rmse"] for r in model.history_), rel=1e-6)


def test_a_warm_start_goes_on_where_the_last_fit_ended(client: Client, fine: DaskDSEKLClassifier) -> None:
    model = DaskDSEKLClassifier(**FINE, warm_start=True, max_epochs=6)
    with pytest.warns(match="not converged"):
        model.fit(ROWS, UP)
    model.set_params(max_epochs=50).fit(ROWS, UP)
    # Six rounds are a snapshot, so these are the same rounds as without a break.
    gaps = [(record["epoch"], record["gap"]) for record in fine.history_]
    assert [(record["epoch"], record["gap"]) for record in model.history_] == gaps[6:]
    np.testing.assert_array_equal(model.dual_coef_, fine.dual_coef_)
    n_before = model.n_iter_
    model.set_params(C=1.5 * C).fit(ROWS, UP)
    cold = DaskDSEKLClassifier(**{**FINE, "C": 1.5 * C}).fit(ROWS, UP)
    assert model.history_[0]["epoch"] == n_before + 1
    assert model.history_[0]["change"] < 0.5 * cold.history_[0]["change"]  # it starts near to where it ends
    assert model.history_[-1]["gap"] < 1e-3
    assert (model.predict(ROWS) == cold.predict(ROWS)).mean().compute() > 0.998


def test_a_warm_start_with_other_weights_keeps_rows_and_coefficients_together(client: Client) -> None:
    model = DaskDSEKLClassifier(**FINE, warm_start=True).fit(ROWS, UP)
    weights = np.where(np.arange(len(X)) % 5 == 0, 0.0, 1.0)
    model.fit(ROWS, UP, da.from_array(weights, chunks=600))
    cold = DaskDSEKLClassifier(**FINE).fit(ROWS, UP, da.from_array(weights, chunks=600))
    assert (model.support_ % 5 != 0).all()
    assert model.history_[0]["change"] < 0.5 * cold.history_[0]["change"]  # it starts near to where it ends
    assert model.history_[-1]["gap"] < 1e-3
    assert (model.predict(ROWS) == cold.predict(ROWS)).mean().compute() > 0.99


def test_what_a_warm_start_cannot_go_on_from_is_named(client: Client) -> None:
    model = DaskDSEKLClassifier(**{**SETTINGS, "tol": 0.5}, warm_start=True).fit(ROWS, UP)
    with pytest.raises(ValueError, match=r"warm_start=True goes on from a fit that differs in gamma"):
        model.set_params(gamma=2 * GAMMA).fit(ROWS, UP)
    model = DaskDSEKLClassifier(**{**SETTINGS, "tol": 0.5}, warm_start=True).fit(ROWS, UP)
    with pytest.raises(ValueError, match=r"goes on from 2000 rows and 1 outputs, but this fit has 1000 rows"):
        model.fit(ROWS[:1000], UP[:1000])
