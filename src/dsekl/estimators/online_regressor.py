"""Regression of a stream: targets in units of their spread so far, with their mean as intercept."""

from __future__ import annotations

from numbers import Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MultiOutputMixin, RegressorMixin, _fit_context
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_consistent_length

from dsekl.runs.role import Role

from . import inputs
from .docstrings import with_parameters_of
from .online import Floats, OnlineEstimator, parameters
from .online_classifier import OnlineDSEKLClassifier
from .parameters import ANYTHING, Parameter, with_parameters

LOSS = Parameter("squared", Role.PROBLEM, ANYTHING)
C = Parameter(10.0, Role.PROBLEM, [Interval(Real, 0, None, closed="neither")])


@with_parameters_of(OnlineDSEKLClassifier)
@with_parameters(parameters(loss=LOSS, C=C))
class OnlineDSEKLRegressor(MultiOutputMixin, RegressorMixin, OnlineEstimator):
    """A kernel regressor that learns one row at a time, keeps a bounded number of points, and forgets.

    Parameters
    ----------
    loss : {"squared", "epsilon_insensitive", "huber", "quantile"} or loss object, default="squared"
        The parameter of a loss is in units of the spread of the targets so far.
    C : float, default=10.0
        Weight of the loss of a row against the regularisation.

    Attributes
    ----------
    intercept_ : array of shape (n_targets,)
        The mean of the targets when the number of rows last doubled.
    n_seen_, progressive_loss_, support_vectors_, dual_coef_, gamma_ : as in ``OnlineDSEKLClassifier``

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

    @property
    def intercept_(self) -> Floats:
        """What is added to the sum over points."""
        return self._fitted("intercept_").intercept

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: inputs.MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from rows in the order in which they are given.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array of shape (n_samples,), optional
        """
        rows, targets, weights = self._checked(X, y, sample_weight, reset=not self._begun)
        if not self._begun:
            self._begin(targets.shape[1])
        self._learn(rows, targets, weights)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: inputs.MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Forget everything and learn from rows in one pass, in random order, with a last sweep over the buffer.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array of shape (n_samples,), optional
        """
        if y is None:
            raise ValueError(f"{type(self).__name__}.fit requires y to be passed, but the target y is None")
        self.__dict__.pop("learner_", None)
        rows, targets, weights = self._checked(X, y, sample_weight, reset=True)
        inputs.refuse_no_weight(weights)
        self._begin(targets.shape[1])
        counted = np.flatnonzero(weights > 0)
        order = counted[self._shuffled(len(counted))]
        self._learn(rows[order], targets[order], weights[order])
        self.learner_.settle()
        return self

    def _checked(
        self, X: inputs.MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None, reset: bool
    ) -> tuple[Floats, Floats, Floats]:
        self._resolved_loss()
        rows = self._rows(X, reset)
        targets = inputs.real_targets(y)
        check_consistent_length(rows, targets)
        one_target = targets.ndim == 1
        targets = targets.reshape(len(targets), -1)
        if self._begun and targets.shape[1] != self.learner_.n_outputs:
            raise ValueError(f"y has {targets.shape[1]} targets, and the first rows had {self.learner_.n_outputs}")
        self._one_target = one_target
        return rows, targets, inputs.stream_weights(sample_weight, len(rows))

    def _learn(self, rows: Floats, targets: Floats, weights: Floats) -> None:
        """Learn from checked rows."""
        self.learner_.learn(rows, targets, weights, np.zeros(len(rows), dtype=np.int64))

    def predict(self, X: inputs.MatrixLike) -> Floats:
        """Return the target of each row, shape (n_queries,) or (n_queries, n_targets)."""
        f = self._evaluate(X)
        return f[:, 0] if self._one_target else f
