"""Regression of a stream: targets in units of their spread so far, with their mean as intercept."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils._param_validation import Interval, StrOptions

from dsekl.runs.role import Role

from . import inputs
from .docstrings import with_parameters_of
from .online import Floats, parameters
from .online_classifier import OnlineDSEKLClassifier
from .online_supervised import OnlineSupervised
from .parameters import ANYTHING, Parameter, with_parameters
from .plain_rows import plain_targets
from .regressor import DSEKLRegressor
from .targets import real_targets

LOSS = Parameter("squared", Role.PROBLEM, ANYTHING)
C = Parameter(10.0, Role.PROBLEM, [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})])


@with_parameters_of(OnlineDSEKLClassifier)
@with_parameters(parameters(loss=LOSS, C=C))
class OnlineDSEKLRegressor(MultiOutputMixin, RegressorMixin, OnlineSupervised):
    """A kernel regressor that learns one row at a time, keeps a bounded number of points, and forgets.

    Parameters
    ----------
    loss : {"squared", "epsilon_insensitive", "huber", "quantile"} or loss object, default="squared"
        The parameter of a loss is in units of the spread of the targets so far.
    C : float or "auto", default=10.0
        Weight of the loss of a row against the regularisation. "auto" weights 1, 10 and 100 by their recent losses.

    Attributes
    ----------
    n_seen_, progressive_loss_, support_vectors_, dual_coef_, trend_, intercept_, gamma_
        As in ``OnlineDSEKLClassifier``.

    See Also
    --------
    DSEKLRegressor : All rows at once, with the optimum certified.
    KernelRegressor : The same for river.

    Examples
    --------
    >>> import numpy as np
    >>> from dsekl import OnlineDSEKLRegressor
    >>> X = np.random.default_rng(0).uniform(0, 6, (2000, 1))
    >>> model = OnlineDSEKLRegressor(budget=30, random_state=0).partial_fit(X, np.sin(X[:, 0]))
    >>> print(f"{model.score(X, np.sin(X[:, 0])):.2f}")  # doctest: +NUMBER
    1.00
    """

    _task = "regression"
    _batch = DSEKLRegressor

    def _shaped_like(self, model: Any) -> None:
        self._one_target = np.ndim(model.intercept_) == 0

    def partial_fit(self, X: inputs.MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from rows in the order in which they are given.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array of shape (n_samples,), optional
        """
        self._check_at_first()
        rows, targets, weights = self._checked(X, y, sample_weight)
        if not self._begun:
            self._begin_with(targets)
        self._learn(rows, targets, weights)
        return self

    def _values(self, y: ArrayLike) -> NDArray[Any]:
        plain = plain_targets(y) if self._begun else None
        targets = real_targets(y) if plain is None else plain
        one_target = targets.ndim == 1
        targets = targets.reshape(len(targets), -1)
        largest = float(np.abs(targets).max(initial=0.0))
        if largest > inputs.LARGEST:
            raise ValueError(f"y holds {largest:.3g}, too large for squares in float64; divide y by a constant")
        if self._begun and targets.shape[1] != self.learner_.n_outputs:
            raise ValueError(f"y has {targets.shape[1]} targets, and the first rows had {self.learner_.n_outputs}")
        self._one_target = one_target
        return targets

    def _begin_with(self, values: NDArray[Any]) -> None:
        self._begin(values.shape[1])

    def _targets_and_codes(self, values: NDArray[Any]) -> tuple[Floats, NDArray[np.int64]]:
        return values, np.zeros(len(values), dtype=np.int64)

    def predict(self, X: inputs.MatrixLike) -> Floats:
        """Return the target of each row, shape (n_queries,) or (n_queries, n_targets)."""
        f = self._evaluate(X)
        return f[:, 0] if self._one_target else f
