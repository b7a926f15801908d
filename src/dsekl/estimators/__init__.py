"""The scikit-learn estimators."""

from .callbacks import Report
from .classifier import DSEKLClassifier
from .regressor import DSEKLRegressor

__all__ = ["DSEKLClassifier", "DSEKLRegressor", "Report"]
