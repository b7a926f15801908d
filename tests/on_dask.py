"""What the tests on Dask share: rows in a square, a wave on them, and a frame of more than numbers."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
import pandas as pd

GAMMA, C = 200.0, 2.0
SETTINGS: dict[str, Any] = dict(gamma=GAMMA, C=C, random_state=0, n_parts=3, verbose=False)
FINE: dict[str, Any] = {**SETTINGS, "tol": 1e-3}
"""A fit of more rounds than there are between two snapshots."""


def table(n: int = 2_000, seed: int = 0) -> tuple[Any, Any]:
    """Return rows in a square and a noisy wave on it."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    return X, np.sin(9 * X[:, 0]) * np.cos(7 * X[:, 1]) + 0.1 * rng.normal(size=n)


X, WAVE = table()
LABELS = np.where(WAVE > 0, "up", "down")
ROWS = da.from_array(X, chunks=(600, 2))
UP = da.from_array(LABELS, chunks=600)


def same_bits(one: Any, other: Any) -> None:
    np.testing.assert_array_equal(one.dual_coef_, other.dual_coef_)
    np.testing.assert_array_equal(one.support_, other.support_)
    assert [record["gap"] for record in one.history_] == [record["gap"] for record in other.history_]


def encoded_table(n: int = 1_200) -> pd.DataFrame:
    """Return a frame with gaps, texts, ordered categories and dates, and what is to be predicted."""
    rows, wave = table(n, 3)
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(rows, columns=["a", "b"])
    frame.loc[::40, "a"] = np.nan
    frame["town"] = rng.choice(["Bonn", "Kiel", "Ulm"], n)
    frame["size"] = pd.Categorical(rng.choice(["S", "M", "L"], n), ["S", "M", "L"], ordered=True)
    frame["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D")
    frame["up"] = np.where(wave + (frame["town"] == "Ulm") > 0.3, "yes", "no")
    return frame
