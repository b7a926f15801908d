"""The encoder of an estimator: rows to predict, and the encoder in files of Python and of the command line.

How it is learned is in ``seen_tables``.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from dsekl.data import saved_values as saved_value
from dsekl.data.column_encodings import CategoricalColumn, NumericColumn, OrderedColumn
from dsekl.data.date_columns import DateColumn
from dsekl.data.encoding import TableEncoder
from dsekl.data.errors import DataFileError
from dsekl.data.frames import ArrayFrame, FrameTable, column_names, is_frame
from dsekl.data.layout import Layout
from dsekl.data.recipe import Recipe
from dsekl.data.target import Target

Table = FrameTable | ArrayFrame

PYTHON_NAMES = {
    "categorical": "categorical_features=[...]",
    "day_first": "pandas.to_datetime(..., dayfirst=...)",
}

FEWEST_STRANGERS = 10
"""Rows from which on it is told that a column has unknown categories alone."""


def encoded(estimator: BaseEstimator, X: Any) -> NDArray[np.float64] | None:
    """Return rows to predict as numbers; None where the estimator has no encoder."""
    encoder: TableEncoder | None = vars(estimator).get("encoder_")
    if encoder is None:
        return None
    names = _names_in(estimator)
    table: Table
    if is_frame(X):
        table = FrameTable(X, None if "feature_names_in_" in vars(estimator) else _taken_by_place(estimator, X, names))
        absent = [name for name in encoder.names if name not in table.names]
        if absent:
            raise ValueError(
                f"X lacks the column {absent[0]!r}, which the model was trained on; it has {list(table.names)!r:.200}"
            )
    else:
        values = np.asarray(X.toarray() if sparse.issparse(X) else X)
        values = values.astype(object) if values.dtype.kind == "U" else values
        if values.ndim != 2 or values.shape[1] != len(names):
            raise ValueError(
                f"X has shape {values.shape}, but {type(estimator).__name__} is expecting {len(names)} features as "
                "input: give a frame with the columns of the training data, or an array with the same places"
            )
        table = ArrayFrame(values, names)
    if table.n_rows == 0:
        raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
    unknown: Counter[str] = Counter()
    with python_names():
        found = encoder.encode(table.chunk(), unknown)
    _tell_of_strangers(encoder, table, unknown)
    numbers = {column.name for column in encoder.columns if isinstance(column, NumericColumn | DateColumn)}
    for note in encoder.surprises({name: count for name, count in unknown.items() if name in numbers}):
        warnings.warn(str(note), UserWarning, stacklevel=4)
    return found


@contextmanager
def python_names() -> Iterator[None]:
    """Put what a user of estimators can do where an error of ``data`` names its own parameters."""
    try:
        yield
    except DataFileError as error:
        error.args = (error.message.with_names(PYTHON_NAMES),)
        raise


def _taken_by_place(estimator: BaseEstimator, X: Any, names: Sequence[str]) -> Sequence[str]:
    """Return the names of the columns of a frame by their places, for an estimator that was fitted on an array."""
    own = column_names(X)
    if len(own) != len(names):
        raise ValueError(
            f"X has {len(own)} columns, but {type(estimator).__name__} is expecting {len(names)} features as input, as "
            "the rows had that it was fitted on"
        )
    if any(isinstance(name, str) for name in own):
        warnings.warn(
            f"X has feature names, but {type(estimator).__name__} was fitted without feature names: columns are taken "
            "by their places",
            UserWarning,
            stacklevel=5,
        )
    return names


def _tell_of_strangers(encoder: TableEncoder, table: Table, unknown: Counter[str]) -> None:
    """Warn of a column of categories that are all unknown, as those of another spelling are."""
    if table.n_rows < FEWEST_STRANGERS:
        return
    for column in encoder.columns:
        if isinstance(column, CategoricalColumn | OrderedColumn) and unknown[column.name] == table.n_rows:
            first = table.chunk().text(column.name)[0]
            levels = column.categories if isinstance(column, CategoricalColumn) else column.levels
            warnings.warn(
                f"column {column.name!r} of X has none of the categories that training rows had: {first!r} is not "
                f"among {list(levels)!r:.100}",
                UserWarning,
                stacklevel=5,
            )


def to_dict(estimator: BaseEstimator) -> dict[str, Any]:
    """Return the encoder of an estimator and the names of its columns, as plain JSON."""
    own = vars(estimator)
    named = "feature_names_in_" in own
    return {"encoder": own["encoder_"].to_dict(), "names": list(_names_in(estimator)), "named": named}


def attach_dict(estimator: BaseEstimator, saved: object) -> None:
    """Give an estimator the encoder that ``to_dict`` described; ValueError if it never did, or of other features."""
    entries = saved_value.entries(saved, "columns", {"encoder", "names", "named"})
    names = saved_value.texts(entries["names"], "columns.names")
    encoder = TableEncoder.from_dict(entries["encoder"])
    if {*encoder.names, *encoder.left_out} != set(names):
        raise ValueError("columns.names are not those of the encoder")
    named = saved_value.flag(entries["named"], "columns.named")
    if not named and names != by_place(len(names)):
        raise ValueError("columns.names are names, and columns.named says that there are none")
    _attach_fitted(estimator, encoder, names if named else None)


def is_recipe(table: dict[str, Any] | None) -> bool:
    """Tell whether what a user has kept with a model is the command line's description of a table."""
    return table is not None and {"version", "kind", "encoder", "target", "layout"} <= table.keys()


def attach_recipe(estimator: BaseEstimator, recipe: Recipe) -> None:
    """Give an estimator that was fitted on the command line the encoder of its table."""
    if isinstance(recipe.encoder, TableEncoder) and recipe.layout is not None:
        _attach_fitted(estimator, recipe.encoder, [*recipe.encoder.names, *recipe.encoder.left_out])


def recipe_of(estimator: BaseEstimator) -> Recipe | None:
    """Return how rows of a file become those of an estimator that was fitted on a frame; None without an encoder."""
    own = vars(estimator)
    if "encoder_" not in own:
        return None
    names = list(_names_in(estimator))
    target = "target"
    while target in names:
        target += "_"
    classes = [int(label) if isinstance(label, int | np.integer) and not isinstance(label, bool) else str(label)
               for label in own.get("classes_", np.empty(0)).tolist()]  # fmt: skip
    layout = Layout([*names, target], "feature_names_in_" in own, target)
    return Recipe(own["encoder_"], Target(target, classes), layout, 1)


def detach(estimator: BaseEstimator) -> Recipe | None:
    """Take its encoder from an estimator, which then takes encoded rows; return how rows of a file become such."""
    recipe = recipe_of(estimator)
    if recipe is not None:
        own = vars(estimator)
        for name in ("encoder_", "feature_names_in_"):
            own.pop(name, None)
        own["n_features_in_"] = recipe.encoder.n_features
        if "_importances_of_features" in own:
            own["feature_importances_"] = own.pop("_importances_of_features")
    return recipe


def _attach_fitted(estimator: BaseEstimator, encoder: TableEncoder, names: Sequence[str] | None) -> None:
    if encoder.n_features != estimator.n_features_in_:
        raise ValueError(f"an encoder of {encoder.n_features} features does not fit {estimator.n_features_in_}")
    of_features = vars(estimator).pop("feature_importances_", None)
    attach(estimator, encoder, names)
    if of_features is not None:
        vars(estimator).update(estimator._importances(of_features))


def attach(estimator: BaseEstimator, encoder: TableEncoder, names: Sequence[str] | None) -> None:
    """Give an estimator an encoder, and the names of the columns that rows have; None for places."""
    estimator.encoder_ = encoder
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
        estimator.n_features_in_ = len(names)
    else:
        estimator.n_features_in_ = len(encoder.names) + len(encoder.left_out)


def by_place(n_columns: int) -> list[str]:
    """Return names for columns that have none."""
    return [f"x{place}" for place in range(n_columns)]


def _names_in(estimator: BaseEstimator) -> Sequence[str]:
    names = vars(estimator).get("feature_names_in_")
    return by_place(estimator.n_features_in_) if names is None else list(names)
