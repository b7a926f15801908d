"""A fitted estimator as settings and arrays, in ``dsekl.persistence``'s format."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dsekl import persistence
from dsekl.models import storage
from dsekl.models.savable import SETTINGS, own_kernel_name
from dsekl.persistence import Location, encoded

if TYPE_CHECKING:
    from .kernel_estimator import KernelEstimator

FITTED = re.compile(r"[A-Za-z](\w*[A-Za-z0-9])?_")
"""Names of fitted attributes."""


def save(
    estimator: KernelEstimator, path: Location, table: dict[str, Any] | None, provenance: dict[str, Any] | None
) -> None:
    """Write a fitted estimator to a file: its parameters, its fitted attributes and its points."""
    arrays: dict[str, Any] = {}
    attributes = {name: value for name, value in vars(estimator).items() if FITTED.fullmatch(name)}
    model, names = attributes.pop("model_"), attributes.pop("feature_names_in_", None)
    own_kernel = own_kernel_name(estimator.kernel)
    if own_kernel is not None:
        attributes.pop("kernel_", None)
    persistence.write(
        path,
        {
            "kind": "model",
            **persistence.about(type(estimator).__name__, provenance),
            "parameters": _parameters(estimator, arrays),
            "feature_names": None if names is None else names.tolist(),
            "fitted": encoded(attributes, "fitted", arrays, SETTINGS),
            "basis": encoded(model.gram.to_values(), "basis", arrays, SETTINGS),
            "own_kernel": own_kernel,
            "witness": None if own_kernel is None else storage.witness(model.gram).tolist(),
            "table": persistence.plain(table, "table"),
        },
        arrays,
    )


def _parameters(estimator: KernelEstimator, arrays: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that a model file keeps; a user's own kernel is none of them."""
    given = estimator.get_params(deep=False)
    chosen = {name: given[name] for name, role in estimator._roles.items() if role.in_file}
    if own_kernel_name(estimator.kernel) is not None:
        del chosen["kernel"]
    return encoded(chosen, "parameters", arrays, SETTINGS)
