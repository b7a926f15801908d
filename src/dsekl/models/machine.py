"""What is fitted: a kernel machine as a plain value, every part of it resolved."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsekl import gram, metric
from dsekl.expansions import Empirical, Expansion
from dsekl.gram import Gram, Reference
from dsekl.gram.reference import NEGLIGIBLE
from dsekl.kernels import Kernel, VectorKernel, median_gamma, scale_gamma
from dsekl.losses import Loss
from dsekl.rows import ArrayRows, CsrRows, DenseRows, NumberRows, Rows, StoredRows
from dsekl.runs import Progress, Run, Settled
from dsekl.solvers import DualAscent, Solver
from dsekl.workers import ALONE, Workers

from .examples import Examples

Floats = NDArray[np.float64]

MEGABYTE = 2**20

MOST_DOUBLE_ROWS = 4096
"""Rows up to which kernel values are float64 unless the user says otherwise."""

SCALE_ROWS = 10_000
"""Rows that are looked at for columns of very different ranges."""

SCALE_RATIO = 1000.0


@dataclass(frozen=True)
class Machine:
    """A kernel machine that has not been fitted.

    ``gamma`` is a number, one per feature, or a rule ("auto", "learn", "scale", "median"); ``C`` is None where it is
    chosen together with a learned gamma, or 1. ``names`` are the features', for messages.
    """

    kernel: Kernel
    loss: Loss
    gamma: float | Floats | str = "auto"
    C: float | None = None
    solver: Solver[Any] = field(default_factory=DualAscent)
    expansion: Expansion = field(default_factory=Empirical)
    dtype: str = "auto"
    kernel_tol: float = 1e-6
    budget: int = 256 * MEGABYTE
    names: NDArray[Any] | None = None

    @property
    def exact(self) -> bool:
        """Whether the exact machine is fitted: all points, by dual ascent."""
        return isinstance(self.solver, DualAscent) and isinstance(self.expansion, Empirical)

    def gram(self, rows: Rows, gamma: float | Floats | None = None, workers: Workers = ALONE) -> Gram:
        """Return the kernel matrix of the rows, made block by block, at a gamma that is settled."""
        if isinstance(rows, ArrayRows | CsrRows | StoredRows) and gamma is not None and np.ndim(gamma) == 0:
            _warn_of_unequal_scales(rows, self.names)
        dtype = self.dtype
        if dtype == "auto":
            dtype = "float64" if len(rows) <= MOST_DOUBLE_ROWS else "float32"
        return gram.build(
            self.kernel, rows, 1.0 if gamma is None else gamma, dtype, self.budget, workers, self.kernel_tol
        )

    def reference(
        self, rows: Rows, order: NDArray[np.intp] | None, gamma: float | Floats | None, workers: Workers
    ) -> Reference | None:
        """Return the kernel matrix of the rows in float64, to measure by; None where kernel values are given so."""
        if gamma is None or not isinstance(rows, ArrayRows | CsrRows | StoredRows):
            return None

        def build(some: Rows) -> Gram:
            return gram.build(self.kernel, some, gamma, "float64", self.budget, workers, NEGLIGIBLE)

        return Reference(build, rows, order, self.budget)

    def settle(self, examples: Examples, run: Run, rng: np.random.Generator) -> Settled:
        """Return gamma, learned if it is to be, and C."""
        rows, C = examples.rows, 1.0 if self.C is None else self.C
        if not isinstance(rows, ArrayRows | CsrRows | StoredRows):
            return Settled(None, C, randomness=rng.bit_generator.state)
        learnable = metric.can_learn(self.kernel) and isinstance(rows, DenseRows)
        rule = self.gamma
        if isinstance(rule, str) and rule == "auto":
            enough = len(examples) >= metric.FEWEST_ROWS
            rule = "learn" if learnable and self.exact and enough else "scale"
        if not (isinstance(rule, str) and rule == "learn"):
            return Settled(self._gamma(rule, rows, rng), C, randomness=rng.bit_generator.state)
        if not (isinstance(rows, DenseRows) and isinstance(self.kernel, VectorKernel) and learnable):
            raise ValueError(
                "gamma='learn' needs dense rows and a distance-based (stationary) kernel, such as 'rbf', not "
                f"kernel={self.kernel!r} on {type(rows.values).__name__}; set gamma='scale' or a number"
            )
        targets, weights = examples.targets, examples.weights
        data = metric.Data(self.kernel, rows, targets, weights, self.loss, examples.errors, run.workers)
        with Progress(run.verbose, 1, "metric") as progress:
            found = metric.learn(data, self.C, rng, progress.advance)
        gamma = self._gamma(found.gamma, rows, rng)
        return Settled(gamma, found.C, found.weights, found.importances, rng.bit_generator.state, found.whole)

    def _gamma(self, gamma: float | Floats | str, rows: NumberRows, rng: np.random.Generator) -> float | Floats:
        """Return gamma as a positive number or one positive number per feature."""
        if isinstance(gamma, str):
            if gamma == "scale":
                return scale_gamma(rows)
            if gamma == "median":
                return median_gamma(rows, self.kernel.pairwise, rng)
            raise ValueError(
                f"gamma={gamma!r} is not known; give 'auto', 'learn', 'scale', 'median', a number or one number per "
                "feature"
            )
        try:
            values = np.asarray(gamma, dtype=np.float64)
        except (TypeError, ValueError):
            values = np.asarray(np.nan)
        if values.ndim > 1 or (values.ndim == 1 and len(values) != rows.n_features):
            raise ValueError(
                f"gamma has shape {values.shape}; give a number, or one number for each of {rows.n_features} features"
            )
        if not (np.isfinite(values).all() and (values >= 0).all() and (values > 0).any()):
            raise ValueError(
                f"gamma={gamma!r} must be positive and finite, e.g. 1.0; 'learn' and 'scale' choose from the data"
            )
        return float(values) if values.ndim == 0 else values


def _warn_of_unequal_scales(rows: NumberRows, names: NDArray[Any] | None) -> None:
    """Suggest a scaler where one column would drown the others."""
    found = unequal_scales(rows)
    if found is None:
        return
    large, small = (names[i] if names is not None else i for i in found[:2])
    warnings.warn(
        f"column {large!r} varies {found[2]:.0f} times as much as column {small!r}, so the kernel hardly sees the "
        "latter. Set gamma='learn', put sklearn.preprocessing.StandardScaler before the estimator, or give gamma one "
        "value per feature.",
        UserWarning,
        stacklevel=3,
    )


def unequal_scales(rows: NumberRows) -> tuple[int, int, float] | None:
    """Return the columns of the widest and narrowest range and their ratio, if it is over 1000.

    Ranges, not deviations: a rare one-hot code varies little, but is in the same unit as a frequent one.
    """
    columns, scales = rows.ranges(SCALE_ROWS)
    varying = np.flatnonzero(scales > 0)
    if len(varying) < 2:
        return None
    large, small = varying[scales[varying].argmax()], varying[scales[varying].argmin()]
    ratio = float(scales[large] / scales[small])
    return (int(columns[large]), int(columns[small]), ratio) if ratio > SCALE_RATIO else None
