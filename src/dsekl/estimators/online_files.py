"""Online estimators as files, from which they go on to the bit, and back."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from dsekl import persistence
from dsekl.models.savable import SETTINGS, own_kernel_name
from dsekl.online.large_state import learner_from, state_of
from dsekl.persistence import Location, decoded, encoded
from dsekl.runs.fields import checked
from dsekl.runs.monitor import Figure
from dsekl.solvers.state import Finite, Range

from . import encoded_tables
from .fitted import LABELS, checked_labels
from .loaded_parameters import check_object
from .online import OnlineEstimator
from .online_anomaly import OnlineDSEKLAnomaly
from .online_classifier import OnlineDSEKLClassifier
from .online_regressor import OnlineDSEKLRegressor

KINDS = {kind.__name__: kind for kind in (OnlineDSEKLClassifier, OnlineDSEKLRegressor, OnlineDSEKLAnomaly)}

ATTRIBUTES: dict[str, dict[str, Any]] = {
    "OnlineDSEKLClassifier": {LABELS: None},
    "OnlineDSEKLRegressor": {"_one_target": bool},
    "OnlineDSEKLAnomaly": {"offset_": Finite},
}
"""What each class has beside its learner."""

OPTIONAL: dict[str, Any] = {"compaction_": dict[str, Figure]}


def save(
    estimator: OnlineEstimator, path: Location, table: dict[str, Any] | None, provenance: dict[str, Any] | None
) -> None:
    """Write an online estimator to a file: its parameters, and all that its learner is."""
    if own_kernel_name(estimator.kernel) is not None:
        raise ValueError(
            f"kernel={estimator.kernel!r} is a function of your own, which no file holds; use joblib.dump, and load "
            "only files that you trust"
        )
    arrays: dict[str, Any] = {}
    own, owner, names = vars(estimator), type(estimator).__name__, vars(estimator).get("feature_names_in_")
    given = estimator.get_params(deep=False)
    encoder = own.get("encoder_")
    fitted = {"n_features_in_": estimator._n_columns, **{name: own[name] for name in ATTRIBUTES[owner]}}
    fitted.update({name: own[name] for name in OPTIONAL if name in own})
    persistence.write(
        path,
        {
            "kind": "model",
            **persistence.about(owner, provenance),
            "parameters": encoded(given, "parameters", arrays, SETTINGS),
            "feature_names": None if names is None or encoder is not None else names.tolist(),
            "columns": None if encoder is None else encoded_tables.to_dict(estimator),
            "fitted": encoded(fitted, "fitted", arrays, SETTINGS),
            "basis": encoded(state_of(estimator.learner_), "basis", arrays, SETTINGS),
            "own_kernel": None,
            "witness": None,
            "table": persistence.plain(table, "table"),
        },
        arrays,
    )


def build(header: dict[str, Any], arrays: dict[str, Any]) -> OnlineEstimator:
    """Return the estimator that a header and arrays describe, each part checked before the next is made from it."""
    kind = KINDS[header["class"]]
    settings = decoded(header["parameters"], arrays, SETTINGS)
    if set(settings) != set(kind._roles):
        raise ValueError(f"its parameters are {sorted(settings)}, not those of a {kind.__name__}")
    estimator = kind(**settings)
    estimator._validate_params()
    fitted = decoded(header["fitted"], arrays, SETTINGS)
    wanted = ATTRIBUTES[kind.__name__]
    if set(fitted) - set(OPTIONAL) != {"n_features_in_", *wanted}:
        raise ValueError(f"its fitted attributes are {sorted(fitted)}, not those of a {kind.__name__}")
    n_features = checked(Annotated[int, Range(1, most=2**31)], fitted["n_features_in_"], {}, "n_features_in_")
    estimator.n_features_in_ = n_features
    basis = decoded(header["basis"], arrays, SETTINGS)
    n_outputs = len(basis["unit"])
    for name, hint in {**wanted, **{name: OPTIONAL[name] for name in OPTIONAL if name in fitted}}.items():
        value = fitted[name] if name == LABELS else checked(hint, fitted[name], {}, name)
        estimator.__dict__[name] = checked_labels(value, n_outputs) if name == LABELS else value
    if fitted.get("_one_target") and n_outputs != 1:
        raise ValueError(f"{n_outputs} outputs are not those of one target")
    names = checked(list[str] | None, header["feature_names"], {}, "feature_names")
    if names is not None:
        if len(names) != n_features:
            raise ValueError(f"{len(names)} feature_names do not fit {n_features} features")
        estimator.feature_names_in_ = np.array(names, dtype=object)
    resolved = estimator._settings()
    check_object(resolved.kernel)
    check_object(resolved.loss)
    resolved.kernel.profile()  # refuses bad parameters
    estimator.learner_ = learner_from(resolved, n_features, n_outputs, basis)
    if header.get("columns") is not None:
        encoded_tables.attach_dict(estimator, header["columns"])
    return estimator
