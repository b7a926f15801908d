"""Model files as estimators: what ``save`` wrote, read back and checked.

Reading a file builds objects of the classes in ``models/savable.py`` and of no others.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsekl import kernels, persistence
from dsekl.kernels import KernelLike, VectorKernel
from dsekl.models import Model, storage
from dsekl.models.savable import SETTINGS
from dsekl.persistence import Location, ModelFileError, checking, decoded

from .classifier import DSEKLClassifier
from .regressor import DSEKLRegressor
from .saving import FITTED

KINDS = {kind.__name__: kind for kind in (DSEKLClassifier, DSEKLRegressor)}

WITNESS_TOLERANCE = 1e-3
"""How far kernel values may lie apart, as a share of the largest, and still be those of one kernel."""

GROUPS = ("parameters", "fitted", "basis", "run")
"""Parts of a header that hold values and arrays; a model has the first three, a checkpoint the first and the last."""

MOST_LISTED = 30
"""Entries up to which ``describe`` lists an array."""

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Saved:
    """What a model file holds: the estimator, the user's table, and the header as it stands in the file."""

    estimator: DSEKLClassifier | DSEKLRegressor
    table: dict[str, Any] | None
    header: dict[str, Any]


def read(path: Location, kernel: KernelLike | None = None) -> Saved:
    """Return what a model file holds; ``kernel`` is the user's own kernel, if the model was fitted with one."""
    header, arrays = persistence.read(path)
    if header.get("kind") != "model":
        raise ModelFileError(
            path, f"it is a {header.get('kind')}, no model; dsekl.estimators.files.describe tells more"
        )
    with checking(path):
        if header["own_kernel"] is None and kernel is not None:
            raise ModelFileError(path, f"kernel={kernel!r} is not wanted: the model has its kernel in the file")
        if header["own_kernel"] is not None and kernel is None:
            raise ModelFileError(
                path,
                f"it was fitted with a kernel of your own, {header['own_kernel']}, which no file holds; pass it "
                "again: dsekl.load(path, kernel=...)",
            )
        estimator = _build(header, arrays, kernel)
        if kernel is not None and not _is_same_kernel(header["witness"], estimator.model_):
            raise ModelFileError(path, f"kernel={kernel!r} gives other values than the one that it was fitted with")
        return Saved(estimator, header["table"], header)


def load(path: Location, *, kernel: KernelLike | None = None) -> DSEKLClassifier | DSEKLRegressor:
    """Return the estimator that ``save`` wrote: it predicts to the bit what that one did. No code from the file runs.

    Parameters
    ----------
    path : path of the file
    kernel : the kernel that the model was fitted with, if it was a function of your own, which no file can hold

    Raises
    ------
    ModelFileError
        If the file is corrupted, is not a model, or comes from a later version of the format.
    """
    return read(path, kernel).estimator


def describe(path: Location) -> dict[str, Any]:
    """Tell what is in a model or checkpoint file, as JSON would have it; every byte of the file is checked.

    Long arrays are told by type and shape, and a history by its last epoch.
    """
    header, arrays = persistence.read(path)
    with checking(path):
        for group in GROUPS:
            header[group] = decoded(header.get(group, {}), arrays, SETTINGS)
        history = header["fitted"].pop("history_", []) or (header["run"].get("monitor") or {}).pop("history", [])
        listed = {"path": os.fspath(path), "bytes": os.path.getsize(path), **header}
        listed["last_epoch"] = history[-1] if history else None
        return {name: _listed(value) for name, value in listed.items() if value != {}}


def _listed(value: Any) -> Any:
    """Return a value as a reader wants to see it."""
    if isinstance(value, np.ndarray):
        return value.tolist() if value.size <= MOST_LISTED else f"{value.dtype} array of shape {value.shape}"
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, dict):
        return {str(key): _listed(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_listed(part) for part in value]
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)


def _build(header: dict[str, Any], arrays: Arrays, kernel: KernelLike | None) -> DSEKLClassifier | DSEKLRegressor:
    settings = decoded(header["parameters"], arrays, SETTINGS)
    estimator = KINDS[header["class"]](**settings if kernel is None else {**settings, "kernel": kernel})
    estimator._validate_params()
    fitted = decoded(header["fitted"], arrays, SETTINGS)
    for name, value in fitted.items():
        if not FITTED.fullmatch(name):
            raise ValueError(f"{name!r} is no fitted attribute")
        setattr(estimator, name, value)
    if header["feature_names"] is not None:
        estimator.feature_names_in_ = np.array(header["feature_names"], dtype=object)
    # Files of 0.1.0 have the kernel among the parameters alone.
    if kernel is not None:
        estimator.kernel_ = kernel
    resolved = kernels.resolve(vars(estimator).get("kernel_", estimator.kernel))
    if isinstance(resolved, VectorKernel):
        resolved.profile()  # refuses bad parameters
    gram = storage.from_values(resolved, decoded(header["basis"], arrays, SETTINGS))
    estimator.model_ = Model(gram, fitted["dual_coef_"])
    _check_outputs(estimator)
    return estimator


def _check_outputs(estimator: DSEKLClassifier | DSEKLRegressor) -> None:
    """Raise ValueError where predictions would trip over shapes that do not fit each other."""
    coef, n_terms = estimator.model_.coef, estimator.model_.gram.n_terms
    if coef.ndim != 2 or coef.dtype != np.float64 or len(coef) != n_terms:
        raise ValueError(f"dual_coef_ of shape {coef.shape} does not fit {n_terms} terms")
    if isinstance(estimator, DSEKLClassifier):
        n_classes = len(estimator.classes_)
        if n_classes < 2 or coef.shape[1] != (1 if n_classes == 2 else n_classes):
            raise ValueError(f"{coef.shape[1]} outputs do not fit {n_classes} classes")
    elif np.shape(estimator.intercept_) not in ((), (coef.shape[1],)):
        raise ValueError(f"intercept_ of shape {np.shape(estimator.intercept_)} does not fit {coef.shape[1]} outputs")
    names = vars(estimator).get("feature_names_in_")
    if names is not None and len(names) != estimator.n_features_in_:
        raise ValueError(f"{len(names)} names do not fit {estimator.n_features_in_} features")


def _is_same_kernel(witness: Any, model: Model) -> bool:
    expected, found = np.array(witness), storage.witness(model.gram)
    size = np.abs(expected).max(initial=0.0)
    return expected.shape == found.shape and np.allclose(found, expected, atol=WITNESS_TOLERANCE * size)
