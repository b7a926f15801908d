"""Exact kernel machines for half a million rows: learned feature weights, no tuning, scikit-learn's API.

The public names are loaded when they are first used, so that ``import dsekl`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .version import __version__ as __version__

if TYPE_CHECKING:
    from .estimators import DSEKLClassifier, DSEKLRegressor
    from .estimators.files import load
    from .estimators.online_anomaly import OnlineDSEKLAnomaly
    from .estimators.online_classifier import OnlineDSEKLClassifier
    from .estimators.online_regressor import OnlineDSEKLRegressor
    from .persistence import ModelFileError

__all__ = [
    "DSEKLClassifier",
    "DSEKLRegressor",
    "ModelFileError",
    "OnlineDSEKLAnomaly",
    "OnlineDSEKLClassifier",
    "OnlineDSEKLRegressor",
    "__version__",
    "load",
]

_HOMES = {
    "DSEKLClassifier": "dsekl.estimators",
    "DSEKLRegressor": "dsekl.estimators",
    "ModelFileError": "dsekl.persistence",
    "OnlineDSEKLAnomaly": "dsekl.estimators.online_anomaly",
    "OnlineDSEKLClassifier": "dsekl.estimators.online_classifier",
    "OnlineDSEKLRegressor": "dsekl.estimators.online_regressor",
    "load": "dsekl.estimators.files",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'dsekl' has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return list(__all__)
