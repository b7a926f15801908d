"""Regression: one or many targets share each kernel block; the best constant is taken off first."""

from __future__ import annotations

from dataclasses import replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import MultiOutputMixin, RegressorMixin, _fit_context

from dsekl import losses
from dsekl.losses import RegressionLoss
from dsekl.models import Examples

from . import inputs
from .classifier import DSEKLClassifier
from .docstrings import with_parameters_of
from .kernel_estimator import KernelEstimator
from .parameters import table, with_parameters
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
        "auto" and True take the constant of least loss (the mean for "squared") off the targets before the fit and add
        it to predictions. True also fits what is left of it, together with f. "auto" does so for the dot-product
        kernels ("linear", "poly", "sigmoid"), and with a trend. With False f is 0 at the origin of a linear kernel, and
        tends to 0 far from the data with others.

    Attributes
    ----------
    intercept_ : float or array of shape (n_targets,)
        What was taken off the targets, and what was fitted.
    trend_ : as in ``DSEKLClassifier``, of shape (n_features, n_targets)
    dual_coef_, support_, n_support_, gamma_, C_, metric_ : as in ``DSEKLClassifier``
    kernel_, loss_, scale_, feature_importances_ : as in ``DSEKLClassifier``
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

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: inputs.MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model to the rows of X and their targets y.

        Parameters
        ----------
        X : array, mapped array or CSR of shape (n_samples, n_features), or sequence of objects
            An ``np.memmap`` that is large for ``memory_budget`` is read a chunk at a time and never held whole; its
            points take as much space in the folder for temporary files (TMPDIR).
        y : array of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array of shape (n_samples,), optional
        """
        self._forget_fit()
        loss = losses.resolve(self.loss, "regression")
        rows, targets, weights = inputs.training_data(self, self._kernel, X, y, sample_weight, inputs.real_targets)
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
        self._train(loss, examples, y, sample_weight, replace(unit, constants=constants))
        return self

    def predict(self, X: inputs.MatrixLike) -> Floats:
        """Return the target of each row, shape (n_queries,) or (n_queries, n_targets)."""
        f = self._evaluate(X)
        return np.asarray(f[:, 0] if np.ndim(self.intercept_) == 0 else f)
