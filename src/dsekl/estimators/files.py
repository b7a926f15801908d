"""Model files as estimators: what ``save`` wrote, read back and checked.

Reading a file builds objects of the classes in ``models/savable.py`` and of no others. Parameters are checked in
``settings.py``, fitted attributes in ``fitted.py``, and points by the gram that is made of them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsekl import kernels, persistence
from dsekl.calibration import natural
from dsekl.data.encoding import TableEncoder
from dsekl.data.recipe import Recipe
from dsekl.data.sparse_encoding import SparseEncoder
from dsekl.kernels import Kernel, KernelLike, VectorKernel
from dsekl.models import Model, storage
from dsekl.models.savable import SETTINGS
from dsekl.persistence import Location, ModelFileError, building, checking, decoded
from dsekl.runs.fields import checked
from dsekl.runs.monitor import Figure
from dsekl.solvers.state import Finite

from . import encoded_tables, online_files
from .classifier import DSEKLClassifier
from .fitted import CALIBRATION, INTERVALS, LABELS, checked_attributes
from .late import Known, Late
from .loaded_parameters import check_object, check_parameters
from .online import OnlineEstimator
from .parameters import is_auto
from .regressor import DSEKLRegressor

KINDS = {kind.__name__: kind for kind in (DSEKLClassifier, DSEKLRegressor)}

WITNESS_TOLERANCE = 1e-3
"""How far kernel values may lie apart, as a share of the largest, and still be those of one kernel."""

GROUPS = ("parameters", "fitted", "basis", "run")
"""Parts of a header that hold values and arrays; a model has the first three, a checkpoint the first and the last."""

MOST_LISTED = 30
"""Entries up to which ``describe`` lists an array."""

TOP_FEATURES, CLEARLY_MORE = 5, 1.5
"""Features that ``describe`` names as most important, if the first has so many times the mean share."""

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Saved:
    """What a model file holds: the estimator, the user's table, and the header as it stands in the file."""

    estimator: DSEKLClassifier | DSEKLRegressor | OnlineEstimator
    table: dict[str, Any] | None
    header: dict[str, Any]


def read(path: Location, kernel: KernelLike | None = None) -> Saved:
    """Return what a model file holds; ``kernel`` is the user's own kernel, if the model was fitted with one."""
    header, arrays = persistence.read(path)
    if header.get("kind") != "model":
        raise ModelFileError(
            path, f"it is a {header.get('kind')}, no model; dsekl.estimators.files.describe tells more"
        )
    with building(path):
        _check_labels(header)
        checked(str | None, header["own_kernel"], {}, "own_kernel")
        if header["own_kernel"] is None and kernel is not None:
            raise ModelFileError(path, f"kernel={kernel!r} is not wanted: the model has its kernel in the file")
        if header["own_kernel"] is not None and kernel is None:
            raise ModelFileError(
                path,
                f"it was fitted with a kernel of your own, {header['own_kernel']}, which no file holds; pass it "
                "again: dsekl.load(path, kernel=...)",
            )
        if header["class"] in online_files.KINDS:
            return Saved(online_files.build(header, arrays), header["table"], header)
        estimator = _build(header, arrays, kernel)
        if kernel is not None and not _is_same_kernel(header["witness"], estimator.model_):
            raise ModelFileError(path, f"kernel={kernel!r} gives other values than the one that it was fitted with")
        return Saved(estimator, header["table"], header)


def load(path: Location, *, kernel: KernelLike | None = None) -> Any:
    """Return the estimator that ``save`` wrote: it predicts to the bit what that one did. No code from the file runs.

    Parameters
    ----------
    path : path of the file
    kernel : the kernel that the model was fitted with, if it was a function of your own, which no file can hold

    Raises
    ------
    ModelFileError
        If the file is corrupted, is not a model, or comes from a later version of the format.

    See Also
    --------
    DSEKLClassifier.save : Writes the file.
    dsekl.estimators.describe : What is in it, without a model.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import dsekl
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = dsekl.DSEKLClassifier(gamma=0.5, C=10.0, random_state=0).fit(X, y)
    >>> with TemporaryDirectory() as folder:
    ...     model.save(Path(folder) / "iris.dsekl")
    ...     again = dsekl.load(Path(folder) / "iris.dsekl")
    >>> print(f"{again.score(X, y):.2f}")
    0.98
    """
    saved = read(path, kernel)
    with checking(path):
        if "encoder_" not in vars(saved.estimator) and encoded_tables.is_recipe(saved.table):
            encoded_tables.attach_recipe(saved.estimator, Recipe.from_dict(saved.table, path))
    return saved.estimator


def describe(path: Location) -> dict[str, Any]:
    """Tell what is in a model or checkpoint file, as JSON would have it; every byte of the file is checked.

    Long arrays are told by type and shape, and a history by its last epoch.
    """
    header, arrays = persistence.read(path)
    with checking(path):
        _check_labels(header)
        for group in GROUPS:
            header[group] = decoded(header.get(group, {}), arrays, SETTINGS)
        history = header["fitted"].pop("history_", []) or (header["run"].get("monitor") or {}).pop("history", [])
        checked(list[dict[str, Figure]], history, {}, "the history")
        listed = {"path": os.fspath(path), "bytes": os.path.getsize(path), **header}
        listed["last_epoch"] = history[-1] if history else None
        listed["most_important"] = _most_important(header, path)
        return {name: shown(value) for name, value in listed.items() if value != {}}


def encoder_of(header: dict[str, Any], path: Location) -> TableEncoder | SparseEncoder | None:
    """Return how the columns of a table become the features of a model; None where X was numbers."""
    if encoded_tables.is_recipe(header.get("table")):
        return Recipe.from_dict(header["table"], path).encoder
    columns = header.get("columns")
    return TableEncoder.from_dict(columns["encoder"]) if isinstance(columns, dict) else None


def _most_important(header: dict[str, Any], path: Location) -> dict[str, float]:
    """Return the largest importances by the name of their column; none where all are about the same."""
    shares = header["fitted"].get("feature_importances_")
    if not isinstance(shares, np.ndarray) or shares.ndim != 1 or shares.dtype != np.float64 or not shares.size:
        return {}
    encoder, names = encoder_of(header, path), header.get("feature_names")
    if encoder is not None and encoder.n_features == shares.size:
        shares = encoder.per_column(shares) if isinstance(encoder, TableEncoder) else shares
        names = [encoder.column(i) for i in range(len(shares))]
    elif not isinstance(names, list) or len(names) != shares.size:
        names = [f"column {i}" for i in range(len(shares))]
    if shares.max() < CLEARLY_MORE / shares.size:
        return {}
    return {str(names[i]): float(shares[i]) for i in np.argsort(-shares, kind="stable")[:TOP_FEATURES]}


def _check_labels(header: dict[str, Any]) -> None:
    """Raise ValueError for what a file says of itself, beside its content, in a form that cannot be shown."""
    for name in ("kind", "library", "class"):
        checked(str, header[name], {}, name)
    checked(Mapping[str, Any], header["provenance"], {}, "provenance")
    checked(Mapping[str, Any] | None, header.get("table"), {}, "table")


def shown(value: Any) -> Any:
    """Return a value as a reader wants to see it."""
    if isinstance(value, np.ndarray):
        return shown(value.tolist()) if value.size <= MOST_LISTED else f"{value.dtype} array of shape {value.shape}"
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, dict):
        return {str(key): shown(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [shown(part) for part in value]
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)


def _build(header: dict[str, Any], arrays: Arrays, kernel: KernelLike | None) -> DSEKLClassifier | DSEKLRegressor:
    """Return the estimator that a header and arrays describe, each part checked before the next is made from it."""
    kind = KINDS[header["class"]]
    settings = decoded(header["parameters"], arrays, SETTINGS)
    in_files = {name for name, role in kind._roles.items() if role.in_file}
    if not settings.keys() <= in_files or ("kernel" in settings) != (kernel is None):
        raise ValueError(f"its parameters are {sorted(settings)}, not those that a model file keeps")
    estimator = kind(**settings if kernel is None else {**settings, "kernel": kernel})
    attributes = decoded(header["fitted"], arrays, SETTINGS)
    resolved = _checked_kernel(estimator, attributes)
    gram = storage.from_values(resolved, decoded(header["basis"], arrays, SETTINGS))
    n_features = storage.n_features(gram)
    check_parameters(estimator, n_features)
    fitted = checked_attributes(attributes, n_features, gram.n_terms)
    # What was named is among the parameters; files have the rest, and those of 0.1.0 have all among the parameters.
    fitted = {"kernel_": estimator.kernel, "loss_": estimator.loss, **fitted}
    if (LABELS in fitted) != isinstance(estimator, DSEKLClassifier):
        raise ValueError(f"its fitted attributes are not those of a {kind.__name__}")
    names = checked(list[str] | None, header["feature_names"], {}, "feature_names")
    if names is not None:
        if n_features is not None and len(names) != n_features:
            raise ValueError(f"{len(names)} feature_names do not fit {n_features} features")
        if len(set(names)) < len(names):
            raise ValueError("feature_names has one twice")
        fitted["feature_names_in_"] = np.array(names, dtype=object)
    columns = header.get("columns")
    for name in (CALIBRATION, INTERVALS):
        if name in fitted:
            fitted["_late"] = Late(Known(fitted.pop(name)))
    if "_late" not in fitted and isinstance(estimator, DSEKLClassifier) and estimator._has_odds(fitted["loss_"]):
        fitted["_late"] = Late(Known(natural()))
    # Classifiers of 0.1.0 have no intercept.
    intercept = fitted.setdefault("intercept_", np.zeros(fitted["dual_coef_"].shape[1]))
    model = Model(gram, fitted["dual_coef_"], np.atleast_1d(intercept), fitted.get("trend_"))
    storage.check_sizes(model, fitted.get("gamma_"))
    estimator._set({**fitted, "model_": model})
    if columns is not None:
        encoded_tables.attach_dict(estimator, columns)
    return estimator


def _checked_kernel(estimator: DSEKLClassifier | DSEKLRegressor, attributes: dict[str, Any]) -> Kernel:
    """Return the kernel of a model: the one that was chosen, where the parameter leaves it open, or the parameter."""
    for name, given in (("kernel_", estimator.kernel), ("loss_", estimator.loss)):
        if (name in attributes) != is_auto(given):
            raise ValueError(f"{name} is for a parameter that is 'auto', and this one is {given!r:.60}")
    chosen = checked(str | None, attributes.get("kernel_"), {}, "kernel_")
    resolved = kernels.resolve(estimator.kernel if chosen is None else chosen)
    check_object(resolved)
    if isinstance(resolved, VectorKernel):
        resolved.profile()  # refuses bad parameters
    return resolved


def _is_same_kernel(witness: Any, model: Model) -> bool:
    rows = checked(list[list[Finite]], witness, {}, "witness")
    expected, found = np.array(rows, dtype=np.float64), storage.witness(model.gram, len(rows))
    size = np.abs(expected).max(initial=0.0)
    return expected.shape == found.shape and np.allclose(found, expected, atol=WITNESS_TOLERANCE * size)
