"""Kernel machines for river: ``pip install "dsekl[river]"``."""

from .anomaly import KernelAnomalyDetector
from .classifier import KernelClassifier
from .regressor import KernelRegressor

__all__ = ["KernelAnomalyDetector", "KernelClassifier", "KernelRegressor"]
