"""Regression: one or many targets share each kernel block; the best constant is taken off first."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import MultiOutputMixin, RegressorMixin, _fit_context

from dsekl import losses
from dsekl.calibration import Intervals
from dsekl.deadline import Budget
from dsekl.losses import RegressionLoss
from dsekl.models import Examples, Fitted, Model
from dsekl.models.machine import MEGABYTE
from dsekl.workers import Threads

from . import inputs
from .classifier import DSEKLClassifier
from .docstrings import with_parameters_of
from .kernel_estimator import KernelEstimator
from .late import Known, Late, MakingIntervals
from .parameters import table, with_parameters
from .targets import real_targets
from .units import unit_of

Floats = NDArray[np.float64]


@with_parameters_of(DSEKLClassifier)
@with_parameters(table(loss="squared"))
class DSEKLRegressor(MultiOutputMixin, RegressorMixin, KernelEstimator):
    """An exact kernel regressor: ridge, support vector, robust and quantile regression, with learned feature weights.

    ``f(x) = sum_j k(x, x_j) dual_coef_j + intercept_ + <trend_, x>`` over all training points x_j.

    Parameters
    ----------
    loss : {"squared", "epsilon_insensitive", "huber", "quantile"} or loss object, default="squared"
        Kernel ridge, support vector, robust and quantile regression. The objects ``dsekl.losses.EpsilonInsensitive``,
        ``Huber`` and ``Quantile`` have the parameter of each.
    fit_intercept : "auto" or bool, default="auto"
        "auto" and True subtract the best constant (the mean for "squared") from the targets before the fit. True also
        fits an intercept together with f; "auto" does so for the dot-product kernels ("linear", "poly", "sigmoid"), and
        with a trend. With False f is 0 at the origin of a linear kernel, and tends to 0 far from the data with others.

    Attributes
    ----------
    intercept_ : float or array of shape (n_targets,)
        The intercept, the constant that was subtracted from the targets included.
    trend_, dual_coef_, support_, gamma_, C_, metric_ : as in ``DSEKLClassifier``
    n_support_ : array of shape (1,)
        Number of support vectors.
    kernel_, loss_, scale_, feature_importances_ : as in ``DSEKLClassifier``
    history_, n_iter_, validation_rows_, stop_reason_, encoder_, medians_ : as in ``DSEKLClassifier``

    See Also
    --------
    DSEKLClassifier : The same for classification.
    OnlineDSEKLRegressor : Learns from a stream, one row at a time.
    sklearn.kernel_ridge.KernelRidge : Kernel ridge regression that stores the kernel matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from dsekl import DSEKLRegressor
    >>> X = np.linspace(0, 6, 300)[:, None]
    >>> model = DSEKLRegressor(gamma=1.0, C=10.0, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> print(f"{model.predict([[1.5]])[0]:.2f}")  # doctest: +NUMBER
    0.99
    """

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: inputs.MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model to the rows of X and their targets y.

        Parameters
        ----------
        X : array, mapped array, CSR or data frame of shape (n_samples, n_features), or sequence of objects
            Frames (pandas, polars and others) may have numbers, booleans, categories, texts, dates and times, and all
            of them, and arrays, missing values.
            An ``np.memmap`` that is large for ``memory_budget`` is read a chunk at a time and never held whole; its
            points take as much space in the folder for temporary files (TMPDIR).
        y : array of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array of shape (n_samples,), optional
        """
        budget = Budget.of(self.max_seconds)
        self._forget_fit()
        loss = losses.resolve(self.loss, "regression")
        rows, targets, weights = inputs.training_data(self, self._kernel, X, y, sample_weight, real_targets)
        one_target = targets.ndim == 1
        targets = targets.reshape(len(targets), -1)
        y = targets[:, 0] if one_target else targets
        unit, loss = unit_of(targets, weights, loss, named=isinstance(self.loss, str), exact=self._exact)
        targets = targets / unit.size
        constants = np.zeros(targets.shape[1])
        if self.fit_intercept and isinstance(loss, RegressionLoss):
            constants = np.array([loss.best_constant(column, weights) for column in targets.T])

        def losses_of_rows(y: Floats, f: Floats) -> Floats:
            return np.asarray(loss.value(y, f).mean(axis=1))

        examples = Examples.of(rows, targets - constants, weights, losses_of_rows)
        self._train(loss, examples, y, sample_weight, budget, replace(unit, constants=constants))
        return self

    def predict(self, X: inputs.MatrixLike) -> Floats:
        """Return the target of each row, shape (n_queries,) or (n_queries, n_targets)."""
        f = self._evaluate(X)
        return np.asarray(f[:, 0] if np.ndim(self.intercept_) == 0 else f)

    def predict_interval(self, X: inputs.MatrixLike, coverage: float = 0.9) -> Floats:
        """Return the lower and upper end of an interval for each row: (n_queries, 2), or (n_queries, 2, n_targets).

        Split conformal, and for kernel ridge wider where rows that were not seen were predicted badly. For a model that
        was fitted without the rows that the intervals are learned from, a new row of the same distribution lies within
        with probability of at least ``coverage``, whatever that distribution is. The model that predicts has been
        fitted on those rows too: for it, coverage is measured, not proved. It holds on average over all rows, not for
        every kind of row. Where the fit has made no such predictions, the first call makes up to five
        further fits.

        Parameters
        ----------
        X : rows to predict, as for ``predict``
        coverage : float, default=0.9
            The share of new rows that the intervals are to hold, of each target by itself.
        """
        f = self._evaluate(X)
        if "_late" not in vars(self):
            raise AttributeError(
                "this model came from a file without intervals: it was saved by dsekl 0.1.0, or before they were first "
                "wanted. Call predict_interval once before save, or fit again."
            )
        found: Intervals = self._late.value()
        if not (isinstance(coverage, int | float) and 0 < coverage <= found.largest_coverage):
            raise ValueError(
                f"coverage={coverage!r} must be more than 0 and at most {found.largest_coverage:.4g}, which "
                f"{len(found.scores)} unseen rows allow; e.g. 0.9"
            )
        log_size = None
        if found.size_coef is not None:
            kept = np.flatnonzero(found.size_coef.any(axis=1))
            sizes = Model(self.model_.gram.restricted(kept), found.size_coef[kept])
            rows = inputs.query_rows(self, self.model_.gram.kernel, X)
            log_size = sizes.evaluate(rows, Threads.of(self.n_jobs), self.memory_budget * MEGABYTE)
        ends = np.stack(found.bounds(f, log_size, coverage), axis=1)
        return np.asarray(ends[:, :, 0] if np.ndim(self.intercept_) == 0 else ends)

    def _found_late(self, fitted: Fitted, loss: Any, size: Floats) -> Late[Any]:
        assert fitted.unseen is not None
        return Late(MakingIntervals(fitted.unseen, fitted.model, fitted.support, size, self.n_jobs))

    def _after_compaction(self) -> None:
        if "_late" in vars(self):
            self._late = Late(Known(self._late.value().without_sizes()))
