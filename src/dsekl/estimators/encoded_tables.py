"""Frames, and arrays with missing values, as the numbers that a kernel takes: the same encoder as on the command line.

What needs no encoding, numbers without gaps, is left to scikit-learn's own checks, frame or array.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from dsekl.data import saved_values as saved_value
from dsekl.data.column_encodings import NumericColumn
from dsekl.data.date_columns import DateColumn
from dsekl.data.encoding import MOST_LOOKED_AT, EncoderLearner, TableEncoder, date_columns
from dsekl.data.errors import DataFileError
from dsekl.data.frames import ArrayFrame, FrameTable, Kind, is_frame, kinds
from dsekl.data.layout import Layout
from dsekl.data.number_spelling import mark_of
from dsekl.data.recipe import Recipe
from dsekl.data.target import Target
from dsekl.data.target_statistics import means_of
from dsekl.metric import FEWEST_ROWS
from dsekl.rows import mapping_of

FROM_TYPES = "from_dtype"

MOST_CATEGORIES = 100
"""Categories of a column that have a feature each; all others share one."""

Table = FrameTable | ArrayFrame


def learned(estimator: BaseEstimator, X: Any) -> NDArray[np.float64] | None:
    """Return training rows as numbers and give the estimator their encoder; None where X needs none."""
    for name in ("encoder_", "feature_names_in_"):
        vars(estimator).pop(name, None)
    if estimator.strict:
        return None
    plain = isinstance(estimator.categorical_features, str) and not is_frame(X) and not _may_have_gaps(X)
    table = None if plain else _table(X)
    if table is None:
        return None
    categorical = _categorical(estimator.categorical_features, table.names)
    found = kinds(table, categorical)
    chunk = table.chunk()
    if all(kind is Kind.NUMBER for kind in found.values()) and not _has_gaps(table):
        return None
    if table.n_rows < 2:
        raise ValueError(f"X has {table.n_rows} rows; give at least two")
    of_kind = {kind: [name for name in table.names if found[name] is kind] for kind in Kind}
    levels = {name: table.levels(name) for name in of_kind[Kind.ORDERED]}
    spelled = _dates_in_texts(table, [name for name in of_kind[Kind.CATEGORY] if name not in (categorical or ())])
    dates = spelled | dict.fromkeys(of_kind[Kind.DATE], False)
    categories = [name for name in of_kind[Kind.CATEGORY] if name not in dates]
    learner = EncoderLearner(table.names, categories, np.random.default_rng(0), dates, levels)
    learner.observe(chunk)
    encoder, _ = learner.learned(scale=False, max_categories=MOST_CATEGORIES)
    if not encoder.columns:
        raise ValueError(f"X has no column to learn from: {_listed(encoder.left_out)}")
    surprising = {name: why for name, why in encoder.left_out.items() if "constant" not in why}
    if surprising:
        warnings.warn(f"left out of X: {_listed(surprising)}", UserWarning, stacklevel=4)
    attach(estimator, encoder, table.names if table.has_header else None)
    return encoder.encode(chunk)


def with_statistics(
    estimator: BaseEstimator, X: Any, known: NDArray[np.float64], targets: NDArray[Any], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return encoded training rows with statistics of their targets, for the search for gamma to use or to drop."""
    means = means_of(targets, estimator._decides)
    table = _table(X)
    if means is None or table is None or not estimator._learns_gamma or len(known) < FEWEST_ROWS:
        return known
    seed = estimator.random_state if isinstance(estimator.random_state, int | np.integer) else 0
    rng = np.random.default_rng([int(seed), 19])
    estimator.encoder_, known = estimator.encoder_.with_statistics(table.chunk(), known, means, weights, rng)
    return known


def _dates_in_texts(table: Table, names: Sequence[str]) -> dict[str, bool]:
    """Return columns of texts that are dates, and whether their day comes first; warn of those that are numbers."""
    texts, chunk = [name for name in names if table.is_text(name)], table.chunk()
    dates, notes = date_columns(chunk, texts)
    for note in notes:
        warnings.warn(f"{note.text}; give dates as dates, e.g. with pandas.to_datetime", UserWarning, stacklevel=5)
    for name in texts:
        fields = [field for field in islice(dict.fromkeys(chunk.column(name)), MOST_LOOKED_AT) if field]
        commas = [field for field in fields if mark_of(field) is not None]
        if 2 * len(commas) > len(fields):
            warnings.warn(
                f"column {name!r} has numbers as texts, such as {commas[0]!r}, and is taken for categories; make "
                "numbers of them, e.g. with decimal=',' or thousands=',' of pandas.read_csv",
                UserWarning,
                stacklevel=5,
            )
    return dates


def encoded(estimator: BaseEstimator, X: Any) -> NDArray[np.float64] | None:
    """Return rows to predict as numbers; None where the estimator has no encoder."""
    encoder: TableEncoder | None = vars(estimator).get("encoder_")
    if encoder is None:
        return None
    names = _names_in(estimator)
    table: Table
    if is_frame(X):
        table = FrameTable(X)
        absent = [name for name in encoder.names if name not in table.names]
        if absent:
            raise ValueError(
                f"X lacks the column {absent[0]!r}, which the model was trained on; it has {list(table.names)!r:.200}"
            )
    else:
        values = np.asarray(X.toarray() if sparse.issparse(X) else X)
        if values.ndim != 2 or values.shape[1] != len(names):
            raise ValueError(
                f"X has shape {values.shape}, but {type(estimator).__name__} is expecting {len(names)} features as "
                "input: give a frame with the columns of the training data, or an array with the same places"
            )
        table = ArrayFrame(values, names)
    if table.n_rows == 0:
        raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
    unknown: Counter[str] = Counter()
    found = encoder.encode(table.chunk(), unknown)
    numbers = {column.name for column in encoder.columns if isinstance(column, NumericColumn | DateColumn)}
    for note in encoder.surprises({name: count for name, count in unknown.items() if name in numbers}):
        warnings.warn(str(note), UserWarning, stacklevel=4)
    return found


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
    _attach_fitted(estimator, encoder, names if saved_value.flag(entries["named"], "columns.named") else None)


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
    vars(estimator).update(estimator._importances(of_features))


def attach(estimator: BaseEstimator, encoder: TableEncoder, names: Sequence[str] | None) -> None:
    """Give an estimator an encoder, and the names of the columns that rows have; None for places."""
    estimator.encoder_ = encoder
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
        estimator.n_features_in_ = len(names)
    else:
        estimator.n_features_in_ = len(encoder.names) + len(encoder.left_out)


def _names_in(estimator: BaseEstimator) -> Sequence[str]:
    names = vars(estimator).get("feature_names_in_")
    return [f"x{place}" for place in range(estimator.n_features_in_)] if names is None else list(names)


def _table(X: Any) -> Table | None:
    """Return X as a table that may need an encoder, None where it cannot."""
    if is_frame(X):
        if getattr(getattr(X, "columns", None), "nlevels", 1) > 1:
            raise ValueError(
                "X has columns of several levels (a MultiIndex); make texts of them, e.g. with "
                "X.columns = ['_'.join(map(str, names)) for names in X.columns]"
            )
        if not all(isinstance(name, str) for name in X.columns) and _is_plain(X):
            return None
        return FrameTable(X)
    if isinstance(X, list | tuple):
        try:
            X = np.asarray(X)
        except ValueError:
            return None
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[0] and X.shape[1] and X.dtype.kind in "biufO":
        return ArrayFrame(X)
    return None


def _may_have_gaps(X: Any) -> bool:
    """Tell whether something that is no frame may have missing values; large mapped files have none."""
    if not isinstance(X, np.ndarray | list | tuple) or (isinstance(X, np.ndarray) and mapping_of(X) is not None):
        return False
    try:
        values = np.asarray(X)
        if values.dtype.kind == "c":  # which is for the checks of numbers to refuse
            return False
        values = values if values.dtype.kind == "f" else values.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return False  # scikit-learn has words for it
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isnan(values.sum())) and bool(np.isnan(values).any())


def _is_plain(X: Any) -> bool:
    """Tell whether a frame is one of numbers without gaps, whatever its columns are called."""
    values = X.to_numpy()
    return values.dtype.kind in "biuf" and not np.isnan(values.astype(np.float64)).any()


def _has_gaps(table: Table) -> bool:
    chunk = table.chunk()
    try:
        return any(np.isnan(chunk.numbers(name)).any() for name in table.names)
    except DataFileError:
        return False  # texts in an array of objects: scikit-learn has words for it


def _categorical(given: Any, names: Sequence[str]) -> list[str] | None:
    """Return the names of the columns that are given as categories; None leaves it to the types."""
    if isinstance(given, str) and given == FROM_TYPES:
        return None
    if given is None:
        return []
    listed = np.asarray(given)
    if listed.dtype == bool:
        if listed.shape != (len(names),):
            raise ValueError(f"categorical_features has shape {listed.shape}, and X has {len(names)} columns")
        return [name for name, chosen in zip(names, listed, strict=True) if chosen]
    found = []
    for entry in listed.tolist():
        if isinstance(entry, str) and entry in names:
            found.append(entry)
        elif isinstance(entry, int) and -len(names) <= entry < len(names):
            found.append(names[entry])
        else:
            raise ValueError(
                f"categorical_features={given!r} names {entry!r}, which is no column of X; give names, places from 0 "
                f"to {len(names) - 1}, or 'from_dtype'"
            )
    return found


def _listed(left_out: dict[str, str]) -> str:
    return "; ".join(f"column {name!r}, since {why}" for name, why in left_out.items())
