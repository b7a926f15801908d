"""Kernel machines of rows on many machines: ``pip install "dsekl[dask]"``."""

from dsekl.parts import LocalUpdates

from .dask_classifier import DaskDSEKLClassifier
from .dask_regressor import DaskDSEKLRegressor

__all__ = ["DaskDSEKLClassifier", "DaskDSEKLRegressor", "LocalUpdates"]
