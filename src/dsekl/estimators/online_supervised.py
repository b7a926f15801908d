"""What online estimators with targets share: one pass over rows, some of them now and others later, or all at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.utils.validation import check_consistent_length

from . import inputs
from .going_online import went_online
from .kernel_estimator import KernelEstimator
from .online import Floats, OnlineEstimator


class OnlineSupervised(OnlineEstimator, ABC):
    """An online estimator of labels or numbers; ``values`` are those of some rows, checked."""

    _batch: ClassVar[type[KernelEstimator]]
    """The batch estimator whose models may go online."""

    @abstractmethod
    def _values(self, y: ArrayLike) -> NDArray[Any]:
        """Return the labels or numbers of rows, checked."""

    @abstractmethod
    def _begin_with(self, values: NDArray[Any]) -> None:
        """Begin with nothing, for targets like these."""

    @abstractmethod
    def _targets_and_codes(self, values: NDArray[Any]) -> tuple[Floats, NDArray[np.int64]]:
        """Return the targets (n, n_outputs) that the machine learns, and the codes of the labels; raise ValueError."""

    @classmethod
    def from_model(cls, model: Any, *, budget: int = 500, **parameters: Any) -> Self:
        """Return an online estimator that predicts what a fitted batch model does, and learns on.

        It has the model's kernel, gamma, loss, C, points and coefficients; its intercept, trend and the scales of its
        columns stay as they are. A model of more points than the budget is compacted to it first: points are merged,
        and the coefficients of those left are the nearest to the model's f.

        Parameters
        ----------
        model : DSEKLClassifier, or DSEKLRegressor for a regressor; fitted on rows of numbers or on a frame
        budget : int, default=500
        parameters : maintenance, half_life, n_cols and random_state
        """
        found = went_online(cls, model, cls._batch, budget, parameters)
        found._shaped_like(model)
        return found

    def _shaped_like(self, model: Any) -> None:
        """Return predictions of the shape that a batch model's have."""

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: inputs.MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Forget everything and learn from rows in one pass, in random order, with a last sweep over the buffer.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,), or for a regressor (n_samples, n_targets)
        sample_weight : array of shape (n_samples,), optional
        """
        if y is None:
            raise ValueError(f"{type(self).__name__}.fit requires y to be passed, but the target y is None")
        self.__dict__.pop("learner_", None)
        rows, values, weights = self._checked(X, y, sample_weight)
        inputs.refuse_no_weight(weights)
        counted = np.flatnonzero(weights > 0)
        self._begin_with(values[counted])
        order = counted[self._shuffled(len(counted))]
        self._learn(rows[order], values[order], weights[order])
        self.learner_.settle()
        return self

    def _checked(
        self, X: inputs.MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Floats, NDArray[Any], Floats]:
        """Return rows, values and weights; the first rows decide on the columns."""
        if not self._begun:
            self._resolved_losses()
        rows = self._rows(X, reset=not self._begun)
        values = self._values(y)
        if len(rows) != len(values):
            check_consistent_length(rows, values)
        return rows, values, inputs.stream_weights(sample_weight, len(rows))

    def _learn(self, rows: Floats, values: NDArray[Any], weights: Floats) -> None:
        """Learn from checked rows."""
        targets, codes = self._targets_and_codes(values)
        for _ in self._taught(rows, targets, weights, codes):
            pass
