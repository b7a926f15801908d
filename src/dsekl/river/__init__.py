"""Kernel machines for river: ``pip install "dsekl[river]"``."""

from .anomaly import KernelAnomalyDetector
from .kernel_classifier import KernelClassifier
from .kernel_regressor import KernelRegressor

__all__ = ["KernelAnomalyDetector", "KernelClassifier", "KernelRegressor"]
