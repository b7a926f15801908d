"""Lazy predictions on Dask, and models that come home."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("distributed", reason="dask is not installed: pip install 'dsekl[dask]'")

import dask.array as da
import dask.dataframe as dd
import joblib
import pandas as pd
from dask.utils import key_split
from distributed import Client, get_task_stream
from sklearn.base import clone

import dsekl
from dsekl import DSEKLClassifier
from dsekl.dask import DaskDSEKLClassifier
from tests.on_dask import LABELS, ROWS, SETTINGS, UP, X


def test_to_local_predicts_saves_and_loads_as_any_other(fitted: DaskDSEKLClassifier, tmp_path: Path) -> None:
    local = fitted.to_local()
    assert type(local) is DSEKLClassifier
    f = fitted.decision_function(ROWS).compute()
    np.testing.assert_allclose(local.decision_function(X), f, atol=1e-4)
    local.save(tmp_path / "m.dsekl")
    loaded = dsekl.load(tmp_path / "m.dsekl")
    np.testing.assert_array_equal(loaded.predict_proba(X), local.predict_proba(X))
    assert (loaded.support_ == fitted.support_).all()
    with pytest.raises(TypeError, match="to_local"):
        joblib.hash(fitted)


@pytest.mark.parametrize("given", [X, X.tolist(), pd.DataFrame(X)], ids=["array", "list", "frame"])
def test_rows_in_memory_are_predicted_lazily_too(fitted: DaskDSEKLClassifier, given: Any) -> None:
    found = fitted.predict(given)
    assert isinstance(found, da.Array)
    np.testing.assert_array_equal(found, fitted.predict(ROWS))


def test_gaps_in_queries_are_the_medians_of_training_rows(client: Client) -> None:
    fitted = DaskDSEKLClassifier(**SETTINGS).fit(ROWS, UP)
    gappy = X[:8].copy()
    gappy[3, 1] = np.nan
    with pytest.warns(UserWarning, match="imputed by the median"):
        right = fitted.to_local().decision_function(gappy)
    with pytest.warns(UserWarning, match="imputed by the median"):  # of a worker, which is a thread here
        found = fitted.decision_function(da.from_array(gappy, chunks=(4, 2))).compute()
    np.testing.assert_allclose(found, right, atol=1e-4)


def test_the_dashboard_shows_tasks_by_their_names(client: Client, fitted: DaskDSEKLClassifier) -> None:
    frame = dd.from_pandas(pd.DataFrame(X, columns=["a", "b"]).assign(y=LABELS), npartitions=2)
    with get_task_stream(client) as shown:
        model = clone(fitted).fit(frame[["a", "b"]], frame["y"])
        model.score(frame[["a", "b"]], frame["y"])
        model.predict(ROWS).compute()
    names = {key_split(task["key"]) for task in shown.data}
    rounds = {"dsekl-look", "dsekl-shuffle", "dsekl-region", "dsekl-ascend", "dsekl-couple", "dsekl-measure"}
    assert rounds | {"dsekl-columns", "dsekl-sum-of-terms", "dsekl-predict", "dsekl-score"} <= names
