"""Model files: a fitted estimator as settings and arrays, and back.

A file holds the parameters, the fitted attributes and the basis, in ``dsekl.persistence``'s format. Reading one builds
objects of the classes named here and of no others.
"""

from __future__ import annotations

import json
import os
import platform
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

import dsekl
from dsekl import expansions, kernels, losses, persistence, solvers
from dsekl.persistence import Location, ModelFileError, believing

from . import bases

SETTINGS: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        kernels.RBF, kernels.Laplacian, kernels.Matern, kernels.RationalQuadratic, kernels.Linear, kernels.Polynomial,
        kernels.Sigmoid, kernels.Chi2, kernels.Precomputed,
        losses.Hinge, losses.SquaredHinge, losses.Logistic, losses.Squared, losses.EpsilonInsensitive, losses.Huber,
        losses.Quantile,
        solvers.DualAscent, solvers.DoublyStochastic, solvers.SharedMemory,
        expansions.Empirical, expansions.FixedSubset, expansions.RandomFourier,
    )
}  # fmt: skip
"""The classes whose objects a file may hold."""

RUN_ONLY = ("callbacks", "checkpoint", "checkpoint_interval")
"""Parameters of one run on one machine, which a model does not keep."""

FITTED = re.compile(r"[A-Za-z](\w*[A-Za-z0-9])?_")
"""Names of fitted attributes."""

WITNESS_TOLERANCE = 1e-3
"""How far kernel values may lie apart, as a share of the largest, and still be those of one kernel."""

GROUPS = ("parameters", "fitted", "basis", "run")
"""Parts of a header that hold values and arrays; a model has the first three, a checkpoint the first and the last."""

MOST_TOLD = 30
"""Entries up to which ``describe`` lists an array."""


@dataclass(frozen=True)
class Saved:
    """What a model file holds: the estimator, the user's table, and the header as it stands in the file."""

    estimator: Any
    table: dict[str, Any] | None
    header: dict[str, Any]


def save(estimator: Any, path: Location, table: dict[str, Any] | None, provenance: dict[str, Any] | None) -> None:
    """Write a fitted estimator to a file."""
    check_is_fitted(estimator)
    arrays: dict[str, Any] = {}
    attributes = {name: value for name, value in vars(estimator).items() if FITTED.fullmatch(name)}
    basis, names = attributes.pop("basis_"), attributes.pop("feature_names_in_", None)
    own_kernel = describe_own_kernel(estimator.kernel)
    persistence.write(
        path,
        {
            "kind": "model",
            **about(estimator, provenance),
            "parameters": parameters(estimator, arrays),
            "feature_names": None if names is None else names.tolist(),
            "fitted": encoded(attributes, "fitted", arrays),
            "basis": encoded(bases.to_values(basis), "basis", arrays),
            "own_kernel": own_kernel,
            "witness": None if own_kernel is None else bases.witness(basis).tolist(),
            "table": _plain(table, "table"),
        },
        arrays,
    )


def read(path: Location, kernel: Any = None) -> Saved:
    """Return what a model file holds; ``kernel`` is the user's own kernel, if the model was fitted with one."""
    header, arrays = persistence.read(path)
    if header.get("kind") != "model":
        raise ModelFileError(
            path, f"it is a {header.get('kind')}, no model; dsekl.estimators.files.describe tells more"
        )
    with believing(path):
        if header["own_kernel"] is None and kernel is not None:
            raise ModelFileError(path, f"kernel={kernel!r} is not wanted: the model has its kernel in the file")
        if header["own_kernel"] is not None and kernel is None:
            raise ModelFileError(
                path, f"it was fitted with a kernel of your own, {header['own_kernel']}, which no file holds; pass it "
                "again: dsekl.load(path, kernel=...)",
            )  # fmt: skip
        estimator = _build(header, arrays, kernel)
        if kernel is not None:
            expected, found = np.array(header["witness"]), bases.witness(estimator.basis_)
            size = np.abs(expected).max(initial=0.0)
            if expected.shape != found.shape or not np.allclose(found, expected, atol=WITNESS_TOLERANCE * size):
                raise ModelFileError(path, f"kernel={kernel!r} gives other values than the one that it was fitted with")
        return Saved(estimator, header["table"], header)


def load(path: Location, *, kernel: Any = None) -> Any:
    """Return the estimator that ``save`` wrote: it predicts to the bit what that one did. No code from the file runs.

    Parameters
    ----------
    path : path of the file
    kernel : the kernel that the model was fitted with, if it was a function of your own, which no file can hold

    Raises
    ------
    ModelFileError
        If the file is damaged, is not a model, or comes from a later version of the format.
    """
    return read(path, kernel).estimator


def describe(path: Location) -> dict[str, Any]:
    """Tell what is in a model or checkpoint file, as JSON would have it; every byte of the file is checked.

    Long arrays are told by type and shape, and a history by its last epoch.
    """
    header, arrays = persistence.read(path)
    with believing(path):
        for group in GROUPS:
            header[group] = decoded(header.get(group, {}), arrays)
        history = header["fitted"].pop("history_", []) or (header["run"].get("monitor") or {}).pop("history", [])
        told = {"path": os.fspath(path), "bytes": os.path.getsize(path), **header}
        told["last_epoch"] = history[-1] if history else None
        return {name: _told(value) for name, value in told.items() if value != {}}


def _told(value: Any) -> Any:
    """Return a value as a reader wants to see it."""
    if isinstance(value, np.ndarray):
        return value.tolist() if value.size <= MOST_TOLD else f"{value.dtype} array of shape {value.shape}"
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, dict):
        return {str(key): _told(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_told(part) for part in value]
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)


def _build(header: dict[str, Any], arrays: dict[str, Any], kernel: Any) -> Any:
    from . import DSEKLClassifier, DSEKLRegressor

    kinds: dict[str, Any] = {"DSEKLClassifier": DSEKLClassifier, "DSEKLRegressor": DSEKLRegressor}
    settings = decoded(header["parameters"], arrays)
    estimator = kinds[header["class"]](**settings if kernel is None else {**settings, "kernel": kernel})
    estimator._validate_params()
    for name, value in decoded(header["fitted"], arrays).items():
        if not FITTED.fullmatch(name):
            raise ValueError(f"{name!r} is no fitted attribute")
        setattr(estimator, name, value)
    if header["feature_names"] is not None:
        estimator.feature_names_in_ = np.array(header["feature_names"], dtype=object)
    resolved = kernels.resolve(estimator.kernel)
    if hasattr(resolved, "profile"):
        resolved.profile()  # refuses bad parameters
    estimator.basis_ = bases.from_values(resolved, decoded(header["basis"], arrays))
    _check_outputs(estimator)
    return estimator


def _check_outputs(estimator: Any) -> None:
    """Raise ValueError where predictions would trip over shapes that do not fit each other."""
    coef = estimator.dual_coef_
    if coef.ndim != 2 or coef.dtype != np.float64 or len(coef) != estimator.basis_.n_terms:
        raise ValueError(f"dual_coef_ of shape {coef.shape} does not fit {estimator.basis_.n_terms} terms")
    if hasattr(estimator, "classes_"):
        n_classes = len(estimator.classes_)
        if n_classes < 2 or coef.shape[1] != (1 if n_classes == 2 else n_classes):
            raise ValueError(f"{coef.shape[1]} outputs do not fit {n_classes} classes")
    elif np.shape(estimator.intercept_) not in ((), (coef.shape[1],)):
        raise ValueError(f"intercept_ of shape {np.shape(estimator.intercept_)} does not fit {coef.shape[1]} outputs")
    if hasattr(estimator, "feature_names_in_") and len(estimator.feature_names_in_) != estimator.n_features_in_:
        raise ValueError(f"{len(estimator.feature_names_in_)} names do not fit {estimator.n_features_in_} features")


def about(estimator: Any, provenance: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return what every file says of itself: versions, class, and where and when it was made."""
    made = {"time": datetime.now(UTC).isoformat(timespec="seconds"), **_machinery()}
    own = _plain(provenance, "provenance")
    return {
        "library": dsekl.__version__,
        "class": type(estimator).__name__,
        "provenance": made if own is None else {**made, "user": own},
    }


@cache
def _machinery() -> dict[str, str]:
    """Return the platform and the versions, looked up once: a checkpoint may be due many times a second."""
    packages = ("numpy", "scipy", "scikit-learn", "numba", "safetensors")
    versions = {name: version(name) for name in packages}
    return {"python": platform.python_version(), "platform": platform.platform(), **versions}


def parameters(estimator: Any, arrays: dict[str, Any]) -> Any:
    """Return the estimator's parameters as JSON and arrays, without those of one run alone and a user's own kernel."""
    chosen = {name: value for name, value in estimator.get_params(deep=False).items() if name not in RUN_ONLY}
    if describe_own_kernel(estimator.kernel) is not None:
        del chosen["kernel"]
    return encoded(chosen, "parameters", arrays)


def encoded(values: dict[str, Any], group: str, arrays: dict[str, Any]) -> dict[str, Any]:
    """Return named values as JSON; their arrays go to ``arrays``."""
    return {name: persistence.encode(value, f"{group}.{name}", arrays, SETTINGS) for name, value in values.items()}


def decoded(nodes: dict[str, Any], arrays: dict[str, Any]) -> dict[str, Any]:
    """Return named values from JSON and arrays."""
    return {name: persistence.decode(node, arrays, SETTINGS) for name, node in nodes.items()}


def describe_own_kernel(kernel: Any) -> str | None:
    """Return what a user's own kernel is called, None for a kernel of dsekl's."""
    if isinstance(kernel, str) or SETTINGS.get(type(kernel).__name__) is type(kernel):
        return None
    function = getattr(kernel, "function", kernel)
    name = getattr(function, "__qualname__", type(function).__name__)
    return name if function is kernel else f"{type(kernel).__name__}({name})"


def _plain(value: dict[str, Any] | None, name: str) -> Any:
    """Return a user's dict if it is JSON."""
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name}={value!r} must hold JSON alone (texts, finite numbers, lists, dicts): {error}"
        ) from error
