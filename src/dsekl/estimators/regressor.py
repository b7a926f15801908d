"""Regression: one or many targets share each kernel block; the best constant is taken off first."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin, _fit_context
from sklearn.utils.validation import check_is_fitted

from dsekl import kernels, losses

from . import compaction, files, inputs
from .callbacks import CallbackSupportMixin, Listeners
from .classifier import DSEKLClassifier
from .docstrings import with_parameters_of
from .parameters import CONSTRAINTS
from .training import Examples, evaluate, train

Floats = NDArray[np.float64]


@with_parameters_of(DSEKLClassifier)
class DSEKLRegressor(CallbackSupportMixin, MultiOutputMixin, RegressorMixin, BaseEstimator):
    """A kernel regressor that keeps every training point in the model.

    ``f(x) = intercept + sum_j k(x, x_j) dual_coef_j`` over all training points x_j.

    Parameters
    ----------
    loss : {"squared", "epsilon_insensitive", "huber", "quantile"} or loss object, default="squared"
        Kernel ridge, support vector, robust and quantile regression. The objects ``dsekl.losses.EpsilonInsensitive``,
        ``Huber`` and ``Quantile`` have the parameter of each.
    fit_intercept : bool, default=True
        Take the constant that fits y best (mean, median or quantile, by the loss) off the targets before the fit
        and add it to predictions. With False the model tends to 0 far from the data.

    Attributes
    ----------
    intercept_ : float or array of shape (n_targets,)
    dual_coef_, support_, n_support_, gamma_, C_, metric_, feature_importances_ : as in ``DSEKLClassifier``
    history_, n_iter_, validation_rows_, stop_reason_ : as in ``DSEKLClassifier``

    Examples
    --------
    >>> import numpy as np
    >>> from dsekl import DSEKLRegressor
    >>> X = np.linspace(0, 6, 300)[:, None]
    >>> model = DSEKLRegressor(gamma=1.0, C=10.0, random_state=0)
    >>> bool(model.fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.95)
    True
    """

    _parameter_constraints = {**CONSTRAINTS, "fit_intercept": ["boolean"]}  # noqa: RUF012

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: Any = "auto",
        loss: Any = "squared",
        C: float | str = "auto",
        solver: Any = "dual",
        expansion: Any = "empirical",
        fit_intercept: bool = True,
        max_epochs: int = 100,
        tol: float | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: Any = "auto",
        warm_start: bool = False,
        kernel_tol: float = 1e-6,
        dtype: str = "auto",
        memory_budget: int = 256,
        checkpoint: Any = None,
        checkpoint_interval: float = 60.0,
        callbacks: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.loss = loss
        self.C = C
        self.solver = solver
        self.expansion = expansion
        self.fit_intercept = fit_intercept
        self.max_epochs = max_epochs
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.kernel_tol = kernel_tol
        self.dtype = dtype
        self.memory_budget = memory_budget
        self.checkpoint = checkpoint
        self.checkpoint_interval = checkpoint_interval
        self.callbacks = callbacks

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model to the rows of X and their targets y.

        Parameters
        ----------
        X : array, mapped array or CSR of shape (n_samples, n_features), or sequence of objects
            An ``np.memmap`` that is large for ``memory_budget`` is read a part at a time and never held whole; its
            points take as much space in the folder for temporary files (TMPDIR).
        y : array of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array of shape (n_samples,), optional
        """
        loss = losses.resolve(self.loss, "regression")
        X, targets = inputs.training_data(self, kernels.resolve(self.kernel), X, y, inputs.real_targets)
        weights = inputs.row_weights(sample_weight, X)
        one_target = targets.ndim == 1
        targets = targets.reshape(len(targets), -1)
        constants = np.zeros(targets.shape[1])
        if self.fit_intercept:
            constants = np.array([loss.best_constant(column, weights) for column in targets.T])
        self.intercept_ = float(constants[0]) if one_target else constants

        def losses_of_rows(y: Floats, f: Floats) -> Floats:
            return np.asarray(loss.value(y, f).mean(axis=1))

        listeners = Listeners(self, X, targets[:, 0] if one_target else targets, sample_weight)
        examples = Examples(X, targets - constants, weights, np.arange(len(targets)))
        train(self, examples, loss, losses_of_rows, None, listeners)
        return self

    def predict(self, X: Any) -> Floats:
        """Return the target of each row, shape (n_queries,) or (n_queries, n_targets)."""
        check_is_fitted(self)
        f = evaluate(self, X) + np.atleast_1d(self.intercept_)
        return np.asarray(f[:, 0] if np.ndim(self.intercept_) == 0 else f)

    def compact(self, tolerance: float, X: Any = None) -> Self:
        """Return a model with fewer terms whose predictions differ by at most ``tolerance`` at the points it has kept.

        As ``DSEKLClassifier.compact``; what it cost is in ``compaction_``.
        """
        model: Self = compaction.compact(self, tolerance, X)
        return model

    def save(self, path: Any, *, table: dict[str, Any] | None = None, provenance: dict[str, Any] | None = None) -> None:
        """Write the fitted model to a file for ``dsekl.load``; as ``DSEKLClassifier.save``."""
        files.save(self, path, table, provenance)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        return inputs.with_input_tags(self, tags)
