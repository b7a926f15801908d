"""A fitted estimator as settings and arrays, in ``dsekl.persistence``'s format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dsekl import persistence
from dsekl.models import storage
from dsekl.models.savable import SETTINGS, own_kernel_name
from dsekl.persistence import Location, encoded
from dsekl.runs.fields import to_values

from . import encoded_tables
from .fitted import ATTRIBUTES, CALIBRATION, INTERVALS, LABELS
from .parameters import is_auto

if TYPE_CHECKING:
    from .fitted_model import FittedModel


def save(
    estimator: FittedModel, path: Location, table: dict[str, Any] | None, provenance: dict[str, Any] | None
) -> None:
    """Write a fitted estimator to a file: its parameters, its fitted attributes and its points."""
    arrays: dict[str, Any] = {}
    own = vars(estimator)
    attributes = {name: own[name] for name in own if name in ATTRIBUTES}
    model, names = own["model_"], own.get("feature_names_in_")
    given = estimator._parameters_of_fit()
    own_kernel = own_kernel_name(given["kernel"])
    for name in ("kernel", "loss"):
        if not is_auto(given[name]):  # it is among the parameters
            attributes.pop(f"{name}_", None)
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
            "parameters": encoded(_of_file(estimator, given), "parameters", arrays, SETTINGS),
            "feature_names": None if names is None or encoder is not None else names.tolist(),
            "columns": None if encoder is None else encoded_tables.to_dict(estimator),
            "fitted": encoded(attributes, "fitted", arrays, SETTINGS),
            "basis": encoded(model.gram.to_values(), "basis", arrays, SETTINGS),
            "own_kernel": own_kernel,
            "witness": None if own_kernel is None else storage.witness(model.gram).tolist(),
            "table": persistence.plain(table, "table"),
        },
        arrays,
    )


def _of_file(estimator: FittedModel, given: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that a model file keeps; a user's own kernel is none of them."""
    own = {"kernel"} if own_kernel_name(given["kernel"]) is not None else set()
    return {name: given[name] for name, role in estimator._roles.items() if role.in_file and name not in own}
