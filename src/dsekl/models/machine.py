"""What is fitted: a kernel machine as a plain value, every part of it resolved."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsekl import gram, kernels, losses, metric
from dsekl.expansions import Empirical, Expansion
from dsekl.gram import Gram, Reference
from dsekl.gram.reference import NEGLIGIBLE
from dsekl.kernels import Kernel, VectorKernel, median_gamma, scale_gamma
from dsekl.losses import Loss
from dsekl.rows import ArrayRows, CsrRows, DenseRows, NumberRows, Reshaping, Rows, StoredRows
from dsekl.runs import HeldInterrupts, Interrupted, Progress, Run, Settled, Stages
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

USUAL_KERNEL, USUAL_LOSS = "rbf", "hinge"
"""What "auto" is where gamma is not learned."""

CHOSEN_KERNELS = ("matern32", "laplacian", "rbf")
CHOSEN_LOSSES = ("hinge", "squared_hinge", "logistic")
"""What "auto" chooses from where gamma is learned, the usual first."""

MOST_HEAVY_ROWS = 200_000
"""Rows up to which kernels with heavier tails than rbf's are tried: of more, each of their values reaches so many rows
that a fit takes several times as long."""


@dataclass(frozen=True)
class Machine:
    """A kernel machine that has not been fitted.

    ``kernel`` and ``loss`` are None where they are chosen together with a learned gamma (``USUAL`` where it is not
    learned). ``gamma`` is a number, one per feature, or a rule ("auto", "learn", "scale", "median"); ``C`` is None
    where it is chosen together with a learned gamma, or 1. ``names`` are the features', for messages.
    """

    kernel: Kernel | None
    loss: Loss | None
    gamma: float | Floats | str = "auto"
    C: float | None = None
    solver: Solver[Any] = field(default_factory=DualAscent)
    expansion: Expansion = field(default_factory=Empirical)
    dtype: str = "auto"
    kernel_tol: float = 1e-6
    budget: int = 256 * MEGABYTE
    names: NDArray[Any] | None = None

    def __post_init__(self) -> None:
        able = isinstance(self.solver, DualAscent) and (self.loss is None or self.loss.has_hard_form)
        if able or not self._hard:
            return
        raise ValueError(
            f"C=inf has no meaning for solver {type(self.solver).__name__} with loss {type(self.usual_loss).__name__}; "
            "give a finite C, e.g. 1e6, or solver='dual' with the loss hinge, squared_hinge, epsilon_insensitive, "
            "huber or quantile, which C=inf allows no row"
        )

    @property
    def _hard(self) -> bool:
        """Whether no row may have a loss."""
        return self.C is not None and bool(np.isinf(self.C))

    @property
    def exact(self) -> bool:
        """Whether the exact machine is fitted: all points, by dual ascent."""
        return isinstance(self.solver, DualAscent) and isinstance(self.expansion, Empirical)

    @property
    def usual_kernel(self) -> Kernel:
        """The kernel, or the usual one where nothing chooses another."""
        return kernels.resolve(USUAL_KERNEL) if self.kernel is None else self.kernel

    @property
    def usual_loss(self) -> Loss:
        """The loss, or the usual one where nothing chooses another."""
        return losses.resolve(USUAL_LOSS, "classification") if self.loss is None else self.loss

    def settled_as(self, settled: Settled) -> Machine:
        """Return the machine with the kernel and the loss that were settled on."""
        kernel = self.usual_kernel if settled.kernel is None else kernels.resolve(settled.kernel)
        loss = self.usual_loss if settled.loss is None else losses.resolve(settled.loss, "classification")
        return replace(self, kernel=kernel, loss=loss)

    def gram(
        self,
        rows: Rows,
        gamma: float | Floats | None = None,
        workers: Workers = ALONE,
        reshaping: Reshaping | None = None,
    ) -> Gram:
        """Return the kernel matrix of the rows, made block by block, at a gamma that is settled."""
        if isinstance(rows, ArrayRows | CsrRows | StoredRows) and gamma is not None and np.ndim(gamma) == 0:
            _warn_of_unequal_scales(rows, self.names)
        dtype = self.dtype
        if dtype == "auto":
            dtype = "float64" if len(rows) <= MOST_DOUBLE_ROWS else "float32"
        return gram.build(
            self.usual_kernel,
            rows,
            1.0 if gamma is None else gamma,
            dtype,
            self.budget,
            workers,
            self.kernel_tol,
            reshaping,
        )

    def reference(
        self,
        rows: Rows,
        order: NDArray[np.intp] | None,
        gamma: float | Floats | None,
        workers: Workers,
        reshaping: Reshaping | None = None,
    ) -> Reference | None:
        """Return the kernel matrix of the rows in float64, to measure by; None where kernel values are given so."""
        if gamma is None or not isinstance(rows, ArrayRows | CsrRows | StoredRows):
            return None

        def build(some: Rows) -> Gram:
            return gram.build(self.usual_kernel, some, gamma, "float64", self.budget, workers, NEGLIGIBLE, reshaping)

        return Reference(build, rows, order, self.budget)

    def settle(self, examples: Examples, run: Run, rng: np.random.Generator) -> Settled:
        """Return gamma, learned if it is to be, and what goes with it."""
        rows, C = examples.rows, 1.0 if self.C is None else self.C
        if not isinstance(rows, ArrayRows | CsrRows | StoredRows):
            return Settled(None, C, randomness=rng.bit_generator.state)
        learnable = metric.can_learn(self.usual_kernel) and isinstance(rows, DenseRows)
        rule = self.gamma
        if isinstance(rule, str) and rule == "auto":
            enough = len(examples) >= metric.FEWEST_ROWS
            rule = "learn" if learnable and self.exact and enough else "scale"
        if not (isinstance(rule, str) and rule == "learn"):
            return Settled(self._gamma(rule, rows, rng), C, randomness=rng.bit_generator.state)
        if not (isinstance(rows, DenseRows) and learnable):
            raise ValueError(
                "gamma='learn' needs dense rows and a distance-based (stationary) kernel, such as 'rbf', not "
                f"kernel={self.usual_kernel!r} on {type(rows.values).__name__}; set gamma='scale' or a number"
            )
        found = self._learned(rows, examples, run)
        reshaping = found.reshaping
        return Settled(
            self._gamma(found.gamma, rows, rng),
            found.C,
            found.weights,
            kernel=found.kernel if self.kernel is None else None,
            loss=found.loss if self.loss is None else None,
            scale=None if reshaping is None else reshaping.name,
            knots=None if reshaping is None else reshaping.knots,
            values=None if reshaping is None else reshaping.values,
            randomness=rng.bit_generator.state,
        )

    def _learned(self, rows: DenseRows, examples: Examples, run: Run) -> metric.Choice:
        """Return what held-out rows choose."""
        data = metric.Data(
            rows, examples.targets, examples.weights, examples.errors, examples.classes, run.workers, self.kernel_tol,
            self.budget,
        )  # fmt: skip
        options = metric.Options(self._kernels(len(rows)), self._losses(), self.C, reshape=self.kernel is None)

        def pause() -> None:
            run.keep_if_due(run)
            if interrupts.pending:
                raise Interrupted

        def advance(done: float) -> None:
            progress.advance(done)
            pause()

        # Ctrl-C is held back until a stage is whole: raised within the call of a compiled function, it may become an
        # error of Numba's.
        try:
            with Progress(run.verbose, 1, "metric") as progress, HeldInterrupts() as interrupts:
                return metric.learn(data, options, run.seed, Stages(run.stages, run.file, pause), advance)
        except KeyboardInterrupt:
            run.keep(run)
            raise KeyboardInterrupt("stopped by Ctrl-C before the first epoch: there is no model yet") from None

    def _kernels(self, n_rows: int) -> dict[str, VectorKernel]:
        """Return the kernels to choose from, the usual one first: heavier tails than rbf's, unless rows are many."""
        if self.kernel is not None:
            assert isinstance(self.kernel, VectorKernel)
            return {type(self.kernel).__name__: self.kernel}
        names = CHOSEN_KERNELS if n_rows <= MOST_HEAVY_ROWS else CHOSEN_KERNELS[-1:]
        resolved = {name: kernels.resolve(name) for name in names}
        return {name: kernel for name, kernel in resolved.items() if isinstance(kernel, VectorKernel)}

    def _losses(self) -> dict[str, Loss]:
        """Return the losses to choose from, the usual one first."""
        if self.loss is not None:
            return {type(self.loss).__name__: self.loss}
        found = {name: losses.resolve(name, "classification") for name in CHOSEN_LOSSES}
        return {name: loss for name, loss in found.items() if loss.has_hard_form or not self._hard}

    def _gamma(self, gamma: float | Floats | str, rows: NumberRows, rng: np.random.Generator) -> float | Floats:
        """Return gamma as a positive number or one positive number per feature."""
        if isinstance(gamma, str):
            if gamma == "scale":
                return scale_gamma(rows)
            if gamma == "median":
                return median_gamma(rows, self.usual_kernel.pairwise, rng)
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
    lowest, highest = rows.ranges(SCALE_ROWS)
    scales = np.asarray(highest, dtype=np.float64) - lowest
    varying = np.flatnonzero(scales > 0)
    if len(varying) < 2:
        return None
    large, small = varying[scales[varying].argmax()], varying[scales[varying].argmin()]
    ratio = float(scales[large] / scales[small])
    return (int(large), int(small), ratio) if ratio > SCALE_RATIO else None
