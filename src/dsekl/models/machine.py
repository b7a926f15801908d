"""What is fitted: a kernel machine as a plain value, every part of it resolved."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsekl import gram, metric
from dsekl.expansions import Empirical, Expansion, RandomFourier
from dsekl.gram import Gram, Reference
from dsekl.gram.affine import AffineGram
from dsekl.gram.reference import NEGLIGIBLE
from dsekl.kernels import RBF, Kernel, Laplacian, Matern, Pairwise, VectorKernel, median_gamma, scale_gamma
from dsekl.losses import Hinge, Logistic, Loss, SquaredHinge
from dsekl.rows import ArrayRows, CsrRows, DenseRows, NumberRows, Reshaping, Rows, StoredRows
from dsekl.runs import Course, HeldInterrupts, Interrupted, Run, Settled, Stages
from dsekl.solvers import DualAscent, Problem, Solver
from dsekl.workers import ALONE, Workers

from .examples import Examples

Floats = NDArray[np.float64]

MEGABYTE = 2**20

MOST_DOUBLE_ROWS = 4096
"""Rows up to which kernel values are float64 unless the user says otherwise."""

MOST_SINGLE_C = 30_000.0
"""The largest C for which they may be float32: what coefficients of that size make of its rounding is a part of f."""

SCALE_ROWS = 10_000
"""Rows that are looked at for columns of very different ranges."""

SCALE_RATIO = 1000.0

USUAL_KERNEL, USUAL_LOSS = "rbf", "hinge"
"""What "auto" is where gamma is not learned."""

CHOSEN_KERNELS: dict[str, VectorKernel] = {"matern32": Matern(1.5), "laplacian": Laplacian(), "rbf": RBF()}
CHOSEN_LOSSES: dict[str, Loss] = {"hinge": Hinge(), "squared_hinge": SquaredHinge(), "logistic": Logistic()}
"""What "auto" chooses from where gamma is learned, the usual first."""

SEARCHED_BY = 0.6
"""Share of the time after which the search ends with the best that it has found."""

MOST_HEAVY_ROWS = 200_000
"""Rows up to which kernels with heavier tails than rbf's are tried: of more, each of their values reaches so many rows
that a fit takes several times as long."""


@dataclass(frozen=True)
class Machine:
    """A kernel machine that has not been fitted.

    ``kernel`` and ``loss`` are None where they are chosen together with a learned gamma (``USUAL`` where it is not
    learned). ``gamma`` is a number, one per feature, or a rule ("auto", "learn", "scale", "median"); ``C`` is None
    where it is chosen together with a learned gamma, or 1. ``intercept`` and ``trend`` say whether f has them; None
    lets held-out rows choose together with a learned gamma, and else gives an intercept to the exact machines of
    dot-product kernels, whose f would be 0 at the origin. ``names`` are the features', for messages; features of one
    of the ``groups`` share a weight where gamma is learned, and those that are ``optional`` must earn theirs together.
    ``first_loss`` is the usual loss, which others must beat.
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
    intercept: bool | None = False
    trend: bool | None = False
    names: NDArray[Any] | None = None
    groups: NDArray[np.intp] | None = None
    optional: NDArray[np.bool_] | None = None
    first_loss: str = USUAL_LOSS

    def __post_init__(self) -> None:
        if (self.intercept or self.trend) and isinstance(self.expansion, RandomFourier):
            raise ValueError(
                "fit_intercept=True and trend=True need terms that are points, which expansion='random_fourier' does "
                "not have; set both to False, or expansion='empirical'"
            )
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
    def all_points(self) -> bool:
        """Whether every training point is a term of f."""
        return isinstance(self.expansion, Empirical)

    @property
    def exact(self) -> bool:
        """Whether the exact machine is fitted: all points, by dual ascent."""
        return isinstance(self.solver, DualAscent) and self.all_points

    @property
    def usual_kernel(self) -> Kernel:
        """The kernel, or the usual one where nothing chooses another."""
        return CHOSEN_KERNELS[USUAL_KERNEL] if self.kernel is None else self.kernel

    @property
    def usual_loss(self) -> Loss:
        """The loss, or the usual one where nothing chooses another."""
        return CHOSEN_LOSSES[self.first_loss] if self.loss is None else self.loss

    @property
    def usual_beside(self) -> metric.Beside:
        """What stands beside the kernel where nothing chooses."""
        through_origin = self.exact and self.usual_kernel.pairwise is Pairwise.DOT
        intercept = through_origin or bool(self.trend) if self.intercept is None else self.intercept
        return metric.Beside(intercept, bool(self.trend))

    def problem(
        self, examples: Examples, settled: Settled, run: Run, rng: np.random.Generator
    ) -> tuple[Problem, Examples]:
        """Return what the solver solves, with what was settled on; and the examples in the order of its rows."""
        kernel = self.usual_kernel if settled.kernel is None else CHOSEN_KERNELS[settled.kernel]
        loss = self.usual_loss if settled.loss is None else CHOSEN_LOSSES[settled.loss]
        machine = replace(self, kernel=kernel, loss=loss)
        beside = self.beside(settled)
        C = settled.C if self.C is None else self.C
        own = machine.gram(examples.rows, settled.gamma, run.workers, settled.reshaping, C)
        own = metric.with_plane(own, examples.rows, beside, settled.reshaping)
        if own.order is not None:
            examples = examples.in_order(own.order)
        problem = Problem(
            own if self.all_points else self.expansion.expand(own, rng),
            examples.targets,
            examples.weights,
            loss,
            C,
            run.workers,
            run.stopping.tol,
            machine._reference(examples.rows, own, settled, run.workers),
        )
        return problem, examples

    def gram(
        self,
        rows: Rows,
        gamma: float | Floats | None = None,
        workers: Workers = ALONE,
        reshaping: Reshaping | None = None,
        C: float = 1.0,
    ) -> Gram:
        """Return the kernel matrix of the rows, made block by block, at a gamma and a C that are settled."""
        if isinstance(rows, ArrayRows | CsrRows | StoredRows) and gamma is not None and np.ndim(gamma) == 0:
            warn_of_unequal_scales(rows, self.names)
        dtype = precision(len(rows), C) if self.dtype == "auto" else self.dtype
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

    def beside(self, settled: Settled) -> metric.Beside:
        """Return what stands beside the kernel: what is asked for, and else what was settled on."""
        return metric.Beside(
            settled.intercept or bool(self.trend) if self.intercept is None else self.intercept,
            settled.trend if self.trend is None else self.trend,
        )

    def _reference(self, rows: Rows, own: Gram, settled: Settled, workers: Workers) -> Reference | None:
        """Return the kernel matrix of the rows in float64, to measure by; None where kernel values are given so."""
        gamma, reshaping = settled.gamma, settled.reshaping
        if gamma is None or not isinstance(rows, ArrayRows | CsrRows | StoredRows):
            return None

        def build(some: Rows) -> Gram:
            made = gram.build(self.usual_kernel, some, gamma, "float64", self.budget, workers, NEGLIGIBLE, reshaping)
            return AffineGram(made, own.plane) if isinstance(own, AffineGram) else made

        return Reference(build, rows, own.order, self.budget)

    def settle(
        self, examples: Examples, run: Run, rng: np.random.Generator, course: Course, n_rows: int | None = None
    ) -> tuple[Settled, list[metric.Fold]]:
        """Return gamma, learned if it is to be, and what goes with it; and the parts that were held out to learn it.

        ``course`` is told how far that is; ``n_rows`` is how many rows will be fitted, if these are a sample of them.
        """
        rows, C = examples.rows, 1.0 if self.C is None else self.C
        beside = self.usual_beside
        if not isinstance(rows, ArrayRows | CsrRows | StoredRows):
            return Settled(None, C, **beside._asdict(), randomness=rng.bit_generator.state), []
        kernel = self.usual_kernel
        learnable = isinstance(rows, DenseRows) and kernel.pairwise.is_distance and kernel.gamma_power > 0
        rule = self.gamma
        if isinstance(rule, str) and rule == "auto":
            enough = len(examples) >= metric.FEWEST_ROWS
            rule = "learn" if learnable and self.exact and enough else "scale"
        if not (isinstance(rule, str) and rule == "learn"):
            gamma = self._gamma(rule, rows, rng)
            return Settled(gamma, C, **beside._asdict(), randomness=rng.bit_generator.state), []
        if not (isinstance(rows, DenseRows) and learnable):
            raise ValueError(
                "gamma='learn' needs dense rows and a distance-based (stationary) kernel, such as 'rbf', not "
                f"kernel={self.usual_kernel!r} on {type(rows.values).__name__}; set gamma='scale' or a number"
            )
        found = self._learned(rows, examples, run, course, n_rows or len(rows))
        reshaping = found.reshaping
        settled = Settled(
            self._gamma(found.gamma, rows, rng),
            found.C,
            found.weights,
            kernel=found.kernel if self.kernel is None else None,
            loss=found.loss if self.loss is None else None,
            scale=None if reshaping is None else reshaping.name,
            knots=None if reshaping is None else reshaping.knots,
            values=None if reshaping is None else reshaping.values,
            **found.beside._asdict(),
            cut_short=found.cut_short,
            randomness=rng.bit_generator.state,
        )
        return settled, found.folds

    def _learned(self, rows: DenseRows, examples: Examples, run: Run, course: Course, n_rows: int) -> metric.Choice:
        """Return what held-out rows choose."""
        data = metric.Data(
            rows, examples.targets, examples.weights, examples.errors, examples.classes, run.workers, self.kernel_tol,
            self.budget, run.budget.deadline(SEARCHED_BY), self.groups,
            self.optional,
        )  # fmt: skip
        options = self.options(n_rows, examples.classes is not None)

        def pause() -> None:
            run.keep_if_due(run)
            if interrupts.pending:
                raise Interrupted

        def advance(done: float) -> None:
            course.search(done)
            pause()

        # Ctrl-C is held back until a stage is whole: raised within the call of a compiled function, it may become an
        # error of Numba's.
        try:
            with HeldInterrupts() as interrupts:
                return metric.learn(data, options, run.seed, Stages(run.stages, run.file, pause), advance)
        except KeyboardInterrupt:
            run.keep(run)
            raise KeyboardInterrupt("stopped by Ctrl-C before the first epoch: there is no model yet") from None

    def options(self, n_rows: int, classes: bool) -> metric.Options:
        """Return what may be chosen for so many rows."""
        return metric.Options(
            self._kernels(n_rows), self._losses(), self.C, self.kernel is None, self._choices_beside(classes)
        )

    def _kernels(self, n_rows: int) -> dict[str, VectorKernel]:
        """Return the kernels to choose from, the usual one first: heavier tails than rbf's, unless rows are many."""
        if self.kernel is not None:
            assert isinstance(self.kernel, VectorKernel)
            return {type(self.kernel).__name__: self.kernel}
        return CHOSEN_KERNELS if n_rows <= MOST_HEAVY_ROWS else {USUAL_KERNEL: CHOSEN_KERNELS[USUAL_KERNEL]}

    def _losses(self) -> dict[str, Loss]:
        """Return the losses to choose from, the usual one first."""
        if self.loss is not None:
            return {type(self.loss).__name__: self.loss}
        names = sorted(CHOSEN_LOSSES, key=lambda name: name != self.first_loss)
        return {name: CHOSEN_LOSSES[name] for name in names if CHOSEN_LOSSES[name].has_hard_form or not self._hard}

    def _choices_beside(self, classes: bool) -> list[metric.Beside]:
        """Return what may stand beside a kernel whose gamma is learned, the usual first.

        The targets of regression have lost their mean, so an intercept alone has nothing to add. A trend that was not
        asked for comes with an intercept.
        """
        usual = self.usual_beside
        others = []
        if self.intercept is None and classes and not usual.intercept:
            others.append(metric.Beside(intercept=True))
        if self.trend is None and self.intercept is not False:
            others.append(metric.Beside(True, True))
        return [usual, *others]

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


def precision(n_rows: int, C: float) -> str:
    """Return the type of kernel values where the user names none."""
    return "float64" if n_rows <= MOST_DOUBLE_ROWS or C > MOST_SINGLE_C else "float32"


def warn_of_unequal_scales(rows: NumberRows, names: NDArray[Any] | None) -> None:
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
