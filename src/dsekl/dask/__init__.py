"""Kernel machines of rows on many machines: ``pip install "dsekl[dask]"``."""

from .classifier import DaskDSEKLClassifier
from .regressor import DaskDSEKLRegressor

__all__ = ["DaskDSEKLClassifier", "DaskDSEKLRegressor"]
