"""The scikit-learn estimators."""

from .classifier import DSEKLClassifier
from .regressor import DSEKLRegressor

__all__ = ["DSEKLClassifier", "DSEKLRegressor"]
