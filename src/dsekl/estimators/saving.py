"""A fitted estimator as settings and arrays, in ``dsekl.persistence``'s format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dsekl import persistence
from dsekl.models import storage
from dsekl.models.savable import SETTINGS, own_kernel_name
from dsekl.persistence import Location, encoded
from dsekl.runs.fields import to_values

from . import tables
from .fitted import ATTRIBUTES, CALIBRATION, INTERVALS, LABELS

if TYPE_CHECKING:
    from .kernel_estimator import KernelEstimator


def save(
    estimator: KernelEstimator, path: Location, table: dict[str, Any] | None, provenance: dict[str, Any] | None
) -> None:
    """Write a fitted estimator to a file: its parameters, its fitted attributes and its points."""
    arrays: dict[str, Any] = {}
    own = vars(estimator)
    attributes = {name: own[name] for name in own if name in ATTRIBUTES}
    model, names = own["model_"], own.get("feature_names_in_")
    own_kernel = own_kernel_name(estimator.kernel)
    for name, chosen in (("kernel_", estimator._chooses_kernel), ("loss_", estimator._chooses_loss)):
        if not chosen:  # it is among the parameters
            attributes.pop(name, None)
    encoder = own.get("encoder_")
    if encoder is not None:  # a file has the features that the kernel sees, and beside them how columns become features
        attributes["n_features_in_"] = encoder.n_features
        if "_importances_of_features" in own:
            attributes["feature_importances_"] = own["_importances_of_features"]
    late = own.get("_late")
    if late is not None and late.cheap:
        attributes[CALIBRATION if LABELS in own else INTERVALS] = to_values(late.value())
    persistence.write(
        path,
        {
            "kind": "model",
            **persistence.about(type(estimator).__name__, provenance),
            "parameters": _parameters(estimator, arrays),
            "feature_names": None if names is None or encoder is not None else names.tolist(),
            "columns": None if encoder is None else tables.to_dict(estimator),
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
