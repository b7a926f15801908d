"""Fits on Dask: the local model's answers, whatever the rows come in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

pytest.importorskip("distributed", reason="dask is not installed: pip install 'dsekl[dask]'")

import dask.array as da
import dask.dataframe as dd
import joblib
import pandas as pd
from distributed import Client, LocalCluster

from dsekl import DSEKLClassifier, DSEKLRegressor
from dsekl.dask import DaskDSEKLClassifier, DaskDSEKLRegressor, LocalUpdates, cluster, overview
from dsekl.dask.cluster import DaskExecutor
from dsekl.parts import gap_of_parts
from dsekl.parts.memory_use import n_bytes
from tests.on_dask import GAMMA, LABELS, ROWS, SETTINGS, UP, WAVE, C, X, encoded_table, same_bits


def test_a_classifier_is_the_local_one(client: Client, fitted: DaskDSEKLClassifier) -> None:
    local = DSEKLClassifier(gamma=GAMMA, C=C, random_state=0).fit(X, LABELS)
    predicted = fitted.predict(ROWS)
    assert isinstance(predicted, da.Array)
    assert predicted.chunks == ROWS.chunks[:1]
    assert (predicted.compute() == local.predict(X)).mean() > 0.985
    assert fitted.score(ROWS, UP) == pytest.approx(local.score(X, LABELS), abs=0.01)
    assert np.abs(fitted.predict_proba(ROWS).compute() - local.predict_proba(X)).mean() < 0.01
    assert fitted.history_[-1]["gap"] < 0.05
    assert fitted.stop_reason_ == "tol"
    assert set(vars(local)) - {"_late", "model_", "_fitted_with"} - set(vars(fitted)) == set()
    assert fitted.n_support_.sum() == len(fitted.support_) == len(fitted.dual_coef_)
    assert fitted.feature_importances_.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("trend", [False, True])
def test_a_regressor_is_the_local_one(client: Client, trend: bool) -> None:
    y = 50.0 + 7.0 * WAVE + 20.0 * X[:, 0]
    settings: dict[str, Any] = dict(gamma=GAMMA, C=C, random_state=0, trend=trend, fit_intercept=True, tol=1e-3)
    model = DaskDSEKLRegressor(**settings, n_parts=3, verbose=False).fit(ROWS, da.from_array(y, chunks=600))
    local = DSEKLRegressor(**settings).fit(X, y)
    np.testing.assert_allclose(model.predict(ROWS).compute(), local.predict(X), atol=0.5)
    np.testing.assert_allclose(model.to_local().predict(X), model.predict(ROWS).compute(), atol=1e-6)
    assert model.score(ROWS, y) == pytest.approx(local.score(X, y), abs=1e-3)
    assert isinstance(model.intercept_, float)
    assert ("trend_" in vars(model)) is trend


def test_frames_weights_and_several_classes(client: Client) -> None:
    y = np.digitize(WAVE, [-0.4, 0.4])
    weights = np.random.default_rng(1).uniform(0, 2, len(X))
    weights[::7] = 0.0
    frame = pd.DataFrame({"east": X[:, 0], "north": X[:, 1].astype(np.float32), "class": y, "weight": weights})
    parts = dd.from_pandas(frame, npartitions=4)
    model = DaskDSEKLClassifier(**SETTINGS, class_weight="balanced")
    model.fit(parts[["east", "north"]], parts["class"], sample_weight=parts["weight"])
    local = DSEKLClassifier(gamma=GAMMA, C=C, random_state=0, class_weight="balanced").fit(X, y, weights)
    assert model.feature_names_in_.tolist() == ["east", "north"]
    assert not np.isin(np.arange(0, len(X), 7), model.support_).any()
    found = model.predict(parts[["east", "north"]]).compute()
    assert (found == local.predict(X)).mean() > 0.97
    assert model.decision_function(parts[["east", "north"]]).compute().shape == (len(X), 3)
    with pytest.raises(ValueError, match=r"columns \['north', 'east'\]"):
        model.predict(parts[["north", "east"]])


def test_a_wide_kernel_lets_blocks_travel(client: Client) -> None:
    model = DaskDSEKLClassifier(**{**SETTINGS, "gamma": 8.0}).fit(ROWS, UP)
    local = DSEKLClassifier(gamma=8.0, C=C, random_state=0).fit(X, LABELS)
    assert model.history_[-1]["wide"] == 1
    assert model.history_[-1]["gap"] < 0.05
    assert (model.predict(ROWS).compute() == local.predict(X)).mean() > 0.97


def test_persisted_rows_give_the_same_model(client: Client) -> None:
    lazy, held = (DaskDSEKLClassifier(**SETTINGS).fit(*given) for given in ((ROWS, UP), (ROWS.persist(), UP.persist())))
    assert np.array_equal(lazy.dual_coef_, held.dual_coef_)
    parts = ROWS.persist()[::2], UP.persist()[::2]
    assert DaskDSEKLClassifier(**SETTINGS).fit(*parts).score(*parts) > 0.9


def test_gamma_and_C_are_learned(client: Client) -> None:
    few = DaskDSEKLClassifier(random_state=0, n_parts=2, verbose=False).fit(ROWS[:600], UP[:600])
    assert few.metric_
    assert few.gamma_.shape == (2,)
    assert few.score(ROWS[600:], UP[600:]) > 0.85


@pytest.mark.filterwarnings("ignore:not converged")  # a large C is best here, for which parts want many rounds
def test_width_and_C_are_chosen_at_full_density(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample of a tenth of the rows cannot see fields of a size that all of them show."""
    monkeypatch.setattr(overview, "SAMPLE_ROWS", 800)
    many = np.random.default_rng(1).uniform(size=(8_000, 2))
    fields = np.floor(10 * many).sum(axis=1) % 2 == 0
    rows, y = da.from_array(many, chunks=(1_000, 2)), da.from_array(fields, chunks=1_000)
    settings: dict[str, Any] = dict(kernel="rbf", loss="hinge", random_state=0, verbose=False)
    whole = DaskDSEKLClassifier(**settings, n_parts=2).fit(rows, y)
    local = DSEKLClassifier(**settings).fit(many, fields)
    new = np.random.default_rng(2).uniform(size=(4_000, 2))
    answers = np.floor(10 * new).sum(axis=1) % 2 == 0
    assert whole.to_local().score(new, answers) == pytest.approx(local.score(new, answers), abs=0.02)


def test_rows_that_are_mostly_empty_are_dense_all_the_same(client: Client) -> None:
    rng = np.random.default_rng(0)
    empty = np.zeros((1_500, 200))
    labels = rng.integers(0, 2, 1_500)
    empty[np.arange(1_500), 10 * labels + rng.integers(0, 10, 1_500)] = 1.0
    rows, y = da.from_array(empty, chunks=(500, 200)), da.from_array(labels, chunks=500)
    assert DaskDSEKLClassifier(**{**SETTINGS, "gamma": 1.0}).fit(rows, y).score(rows, y) == 1.0


def test_frames_are_encoded_as_local_ones_are(client: Client) -> None:
    frame = encoded_table()
    X, y = frame.drop(columns="up"), frame["up"]
    parts = dd.from_pandas(frame, npartitions=3)
    rows = parts.drop(columns="up")
    settings: dict[str, Any] = dict(gamma=3.0, C=C, random_state=0, verbose=False)
    model = DaskDSEKLClassifier(**settings, n_parts=2).fit(rows, parts["up"])
    local = DSEKLClassifier(**settings).fit(X, y)
    assert model.encoder_.to_dict() == local.encoder_.to_dict()
    assert model.feature_names_in_.tolist() == list(X)
    assert model.feature_importances_.shape == local.feature_importances_.shape == (5,)
    predicted = model.predict(rows).compute()
    assert (predicted == local.predict(X)).mean() > 0.97
    at_home = model.to_local()
    np.testing.assert_array_equal(at_home.predict(X), predicted)
    assert model.score(rows, parts["up"]) == pytest.approx(at_home.score(X, y))
    with pytest.raises(ValueError, match=r"X lacks the column 'town'"):
        model.predict(rows.drop(columns="town"))
    with pytest.raises(ValueError, match=r"strict=True, and X has the column 'town' of type"):
        DaskDSEKLClassifier(**settings, strict=True).fit(rows, parts["up"])


def test_gaps_in_an_array_are_those_of_a_local_one(client: Client) -> None:
    gappy = X.copy()
    gappy[1_500:1_510, 0] = np.nan
    rows = da.from_array(gappy, chunks=(600, 2))
    model = DaskDSEKLClassifier(**SETTINGS).fit(rows, UP)
    local = DSEKLClassifier(gamma=GAMMA, C=C, random_state=0).fit(gappy, LABELS)
    assert model.encoder_.to_dict() == local.encoder_.to_dict()
    assert (model.predict(rows).compute() == local.predict(gappy)).mean() > 0.98


def test_missing_values_of_pandas_own_types_are_gaps(client: Client) -> None:
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(floor=pd.array(np.arange(len(X)) % 5, dtype="Int64"), up=LABELS)
    frame.loc[1_500:1_600, "floor"] = pd.NA
    parts = dd.from_pandas(frame, npartitions=3)
    rows = parts.drop(columns="up")
    settings = {**SETTINGS, "gamma": 5.0}
    model = DaskDSEKLClassifier(**settings).fit(rows, parts["up"])
    local = DSEKLClassifier(**{name: settings[name] for name in ("gamma", "C", "random_state")})
    local.fit(frame.drop(columns="up"), LABELS)
    assert model.encoder_.to_dict() == local.encoder_.to_dict()
    assert (model.predict(rows).compute() == local.predict(frame.drop(columns="up"))).mean() > 0.97
    whole = parts.assign(floor=parts["floor"].fillna(2))[["a", "b", "floor"]]
    assert "encoder_" not in vars(clone(model).fit(whole, parts["up"]))  # numbers as others
    with pytest.raises(ValueError, match=r"partition 2: y holds nan in row"):
        clone(model).fit(whole, parts["floor"])


def test_the_client_holds_a_sample_and_never_the_rows(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted are all arrays that come to the client, or go from it into a task."""
    monkeypatch.setattr(overview, "SAMPLE_ROWS", 40)
    monkeypatch.setattr(gap_of_parts, "FEWEST_AUDITED", 1_000)
    monkeypatch.setattr(gap_of_parts, "FREE_WORK", 0)
    passed = [0]

    class Counting(DaskExecutor):
        def submit(self, name: str, task: Any, *arguments: Any, **where: Any) -> Any:
            passed[0] += n_bytes(arguments)
            return super().submit(name, task, *arguments, **where)

        def gather(self, results: Any) -> list[Any]:
            found = super().gather(results)
            passed[0] += n_bytes(found)
            return found

    monkeypatch.setattr(cluster, "DaskExecutor", Counting)
    wide = ROWS.map_blocks(np.tile, (1, 100), chunks=(ROWS.chunks[0], (200,)))
    model = DaskDSEKLClassifier(**{**SETTINGS, "gamma": GAMMA / 100}).fit(wide, UP)
    assert model.history_[-1]["gap"] < 0.05
    assert 0 < passed[0] < 0.25 * wide.nbytes


def test_callbacks_are_told_of_rounds_and_may_end_the_fit(client: Client) -> None:
    told: list[Any] = []

    def listen(report: Any) -> bool:
        told.append(report.record["epoch"])
        if len(told) == 3:
            told.append(report.model().score(ROWS, UP))
        return len(told) > 3

    model = DaskDSEKLClassifier(**{**SETTINGS, "tol": 1e-6}, callbacks=[listen]).fit(ROWS, UP)
    assert model.stop_reason_ == "callback"
    assert told == [1, 2, 3, model.score(ROWS, UP)]
    with pytest.raises(ValueError, match=r"callbacks=\[3\] must be callables"):
        DaskDSEKLClassifier(**SETTINGS, callbacks=[3]).fit(ROWS, UP)


def test_algorithm_2_runs_on_workers(client: Client) -> None:
    def fit(local_batches: int) -> DaskDSEKLClassifier:
        solver = LocalUpdates(n_rows=100, local_batches=local_batches)
        return DaskDSEKLClassifier(gamma=GAMMA, C=C, random_state=0, verbose=False, solver=solver, max_epochs=3).fit(
            ROWS, UP
        )

    with pytest.warns(match="not converged"):
        naive, local = fit(1), fit(10)
    assert local.history_[-1]["received"] < 0.2 * naive.history_[-1]["received"]
    assert min(naive.score(ROWS, UP), local.score(ROWS, UP)) > 0.85
    assert (local.to_local().predict(X) == local.predict(ROWS).compute()).all()
    with pytest.raises(AttributeError, match="no probabilities"):
        local.predict_proba(ROWS)
    with pytest.raises(ValueError, match=r"gamma='auto' is chosen by exact fits"):
        DaskDSEKLClassifier(C=C, solver=LocalUpdates(), client=client).fit(ROWS, UP)
    with pytest.raises(ValueError, match=r"local_batches=0 of LocalUpdates must be at least 1"):
        DaskDSEKLClassifier(gamma=1.0, C=C, solver=LocalUpdates(local_batches=0), client=client).fit(ROWS, UP)


def test_joblibs_backend_and_a_fit_inside_a_task_work(client: Client) -> None:
    local = DSEKLClassifier(gamma=GAMMA, C=C, random_state=0, n_jobs=1).fit(X, LABELS)
    with joblib.parallel_config("dask"):
        models = joblib.Parallel()(joblib.delayed(clone(local).fit)(X, LABELS) for _ in range(2))
    inside = client.submit(clone(local).fit, X, LABELS).result()
    for model in (*models, inside):
        np.testing.assert_array_equal(model.dual_coef_, local.dual_coef_)


@pytest.mark.parametrize("n_workers", [1, 4])
def test_the_same_bits_on_one_two_and_four_workers(fitted: DaskDSEKLClassifier, n_workers: int) -> None:
    with LocalCluster(n_workers=n_workers, threads_per_worker=1, processes=False, dashboard_address=":0") as others:
        assert len(others.workers) == n_workers
        same_bits(fitted, clone(fitted).set_params(client=others.get_client()).fit(ROWS, UP))
