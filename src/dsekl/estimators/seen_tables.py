"""Frames, and arrays with missing values, as the numbers that a kernel takes: the same encoder as on the command line.

What needs no encoding, numbers without gaps, is left to scikit-learn's own checks, frame or array. Columns are looked
at first, and encoded when the targets are known, so that there is room for what these say of categories.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from dsekl.data.column_encodings import finite
from dsekl.data.encoder_learner import EncoderLearner
from dsekl.data.encoding import TableEncoder
from dsekl.data.errors import DataFileError
from dsekl.data.frames import ArrayFrame, FrameTable, Kind, column_names, is_frame, kinds
from dsekl.data.large_integers import refuse_merged
from dsekl.data.python_values import are_values
from dsekl.data.target_statistics import LevelColumn, TargetMeans, means_of
from dsekl.metric import FEWEST_ROWS
from dsekl.rows import ArrayRows, InformedRows, mapping_of

from .encoded_tables import Table, attach, by_place, python_names
from .text_columns import dates_in_texts
from .units import spreads

FROM_TYPES = "from_dtype"

MOST_CATEGORIES = 100
"""Categories of a column that have a feature each; all others share one."""


@dataclass(frozen=True)
class SeenTable:
    """A table of training rows whose columns were looked at, how they are encoded, and whether gamma is learned."""

    table: Table
    encoder: TableEncoder
    searched: bool

    def __len__(self) -> int:
        return self.table.n_rows

    def encoded(self, estimator: BaseEstimator, targets: NDArray[Any], weights: NDArray[np.float64]) -> ArrayRows:
        """Return training rows as numbers and give the estimator their encoder."""
        means = means_of(targets, estimator._decides)
        encoder = self.encoder if means is None or not self.searched else self.encoder.with_room(means.shape[1])
        values = encoder.encode(self.table.chunk())
        rows, encoder = with_means(estimator, encoder, encoder.level_columns(values), values, targets, weights)
        attach(estimator, encoder, self.table.names if self.table.has_header else None)
        return rows


def with_means(
    estimator: BaseEstimator, encoder: TableEncoder, columns: Sequence[LevelColumn], values: NDArray[np.float64],
    targets: NDArray[Any], weights: NDArray[np.float64],
) -> tuple[ArrayRows, TableEncoder]:  # fmt: skip
    """Write the means of the targets into encoded rows, where there is room; return these and the encoder.

    The search for gamma uses or drops them; to rows that judge it nothing shows their targets.
    """
    averaged = means_of(targets, estimator._decides)
    if not columns or averaged is None:
        return ArrayRows(values), encoder
    if not estimator._decides:
        averaged = averaged / spreads(averaged, weights)  # a feature must not change with the unit of y
    seed = estimator.random_state if isinstance(estimator.random_state, int | np.integer) else 0
    means = TargetMeans.of(columns, averaged, weights, np.random.default_rng([int(seed), 19]))
    places = np.arange(len(values))
    means.write(values, places)
    return InformedRows(values, means, places), encoder.with_statistics(means)


@dataclass
class EncodedFile:
    """How rows that come encoded from the command line were encoded, with room for means of the targets."""

    encoder: TableEncoder
    columns: Sequence[LevelColumn]


def from_file(
    estimator: BaseEstimator, rows: ArrayRows, targets: NDArray[Any], weights: NDArray[np.float64]
) -> ArrayRows:
    """Return rows of the command line with means of the targets, which their encoder has then too.

    The means are written into the rows as they are, of which there may be no room for a copy.
    """
    file: EncodedFile = estimator._file
    rows, file.encoder = with_means(estimator, file.encoder, file.columns, rows.values, targets, weights)
    return rows


def searched_from(estimator: BaseEstimator) -> int | None:
    """Return the rows from which on a fit learns gamma, with what may stand beside a column; None for never."""
    return FEWEST_ROWS if estimator._learns_gamma else None


def seen(estimator: BaseEstimator, X: Any) -> SeenTable | None:
    """Look at the columns of training rows; None where X needs no encoder."""
    for name in ("encoder_", "feature_names_in_"):
        vars(estimator).pop(name, None)
    if estimator.strict:
        return None
    given = estimator.categorical_features
    plain = isinstance(given, str) and not is_frame(X) and not _has_gaps_or_texts(X)
    table = None if plain else _table(X)
    if table is None:
        if not plain and given is not None and not isinstance(given, str):
            raise ValueError(
                f"categorical_features={given!r} is for frames and dense arrays, and X is of type {type(X).__name__}; "
                "make it one of these, or leave categorical_features out"
            )
        return None
    categorical = chosen_categories(given, table.names)
    found = kinds(table, categorical)
    chunk = table.chunk()
    if categorical == []:
        for name in table.names:
            if found[name] is Kind.NUMBER and table.kind(name) is not Kind.NUMBER:
                chunk.numbers(name, f"; categorical_features={given!r} takes all columns for numbers, but dates")
    if all(kind is Kind.NUMBER for kind in found.values()) and not _has_gaps(table):
        for name in table.names if is_frame(X) else ():
            refuse_merged(chunk, name, finite(chunk, name))
        return None
    if table.n_rows < 2:
        raise ValueError(f"X has {table.n_rows} rows; give at least two")
    learner = ColumnKinds.of(table, found, categorical).learner(np.random.default_rng(0))
    with python_names():
        learner.observe(chunk)
    fewest = searched_from(estimator)
    searched = fewest is not None and table.n_rows >= fewest
    return SeenTable(table, learned_by(learner, searched), searched)


@dataclass(frozen=True)
class ColumnKinds:
    """What the columns of a table are: categories, dates and whether their day comes first, levels of ordered ones."""

    names: Sequence[str]
    categories: Sequence[str]
    dates: dict[str, bool]
    levels: dict[str, list[str]]

    @staticmethod
    def of(table: Table, found: dict[str, Kind], categorical: Collection[str] | None) -> ColumnKinds:
        """Return what columns of these kinds are; some of the texts may be dates, by their first rows."""
        of_kind = {kind: [name for name in table.names if found[name] is kind] for kind in Kind}
        levels = {name: table.levels(name) for name in of_kind[Kind.ORDERED]}
        spelled = dates_in_texts(table, [name for name in of_kind[Kind.CATEGORY] if name not in (categorical or ())])
        dates = spelled | dict.fromkeys(of_kind[Kind.DATE], False)
        return ColumnKinds(table.names, [name for name in of_kind[Kind.CATEGORY] if name not in dates], dates, levels)

    def learner(self, rng: np.random.Generator) -> EncoderLearner:
        """Return what learns an encoder of such columns."""
        return EncoderLearner(self.names, self.categories, rng, self.dates, self.levels)


def learned_by(learner: EncoderLearner, searched: bool = False) -> TableEncoder:
    """Return the encoder of rows that were observed, and warn of columns that it leaves out."""
    encoder, _ = learner.learned(scale=False, max_categories=MOST_CATEGORIES, searched=searched)
    if not encoder.columns:
        raise ValueError(f"X has no column to learn from: {_listed(encoder.left_out)}")
    surprising = {name: why for name, why in encoder.left_out.items() if "constant" not in why}
    if surprising:
        warnings.warn(f"left out of X: {_listed(surprising)}", UserWarning, stacklevel=4)
    return encoder


def _table(X: Any) -> Table | None:
    """Return X as a table that may need an encoder, None where it cannot."""
    if is_frame(X):
        if getattr(getattr(X, "columns", None), "nlevels", 1) > 1:
            raise ValueError(
                "X has columns of several levels (a MultiIndex); make texts of them, e.g. with "
                "X.columns = ['_'.join(map(str, names)) for names in X.columns]"
            )
        names = column_names(X)
        if not names:
            raise ValueError("X has 0 columns; give at least one")
        if any(isinstance(name, str) for name in names):
            return FrameTable(X)
        return None if _is_plain(X) else FrameTable(X, by_place(len(names)))
    if isinstance(X, list | tuple):
        try:
            X = np.asarray(X)
        except ValueError:
            return None
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[0] and X.shape[1] and X.dtype.kind in "biufOU":
        return ArrayFrame(X.astype(object) if X.dtype.kind == "U" else X)
    return None


def _has_gaps_or_texts(X: Any) -> bool:
    """Tell whether something that is no frame has missing values or texts; large mapped files have none."""
    if not isinstance(X, np.ndarray | list | tuple) or (isinstance(X, np.ndarray) and mapping_of(X) is not None):
        return False
    try:
        given = np.asarray(X)
    except ValueError:
        return False  # scikit-learn has words for it
    if given.dtype.kind == "c":  # which is for the checks of numbers to refuse
        return False
    try:
        values = given if given.dtype.kind == "f" else given.astype(np.float64)
    except OverflowError:
        return False
    except (TypeError, ValueError):
        return given.ndim == 2 and (given.dtype.kind == "U" or (given.dtype.kind == "O" and are_values(given)))
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


def chosen_categories(given: Any, names: Sequence[str]) -> list[str] | None:
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
