"""The block-diagonal split: the data are dealt to workers, each solves its own problem, and their models are averaged.

It is what one gets by pretending that the kernel matrix is block diagonal (Deisenroth and Ng 2015, as the paper
describes it): no worker ever sees a pair of points from two blocks.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.svm import SVC
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data


class BlockDiagonal(ClassifierMixin, BaseEstimator):
    """Independent machines on random blocks of the rows, averaged.

    Parameters
    ----------
    estimator : classifier with ``decision_function``, or None for scikit-learn's SVC
    n_blocks : int
        Blocks, at most as many as there are rows.
    random_state : int, RandomState or None
    """

    def __init__(self, estimator: Any = None, *, n_blocks: int = 2, random_state: Any = None) -> None:
        self.estimator = estimator
        self.n_blocks = n_blocks
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Fit one clone of the estimator to each block."""
        X, y = validate_data(self, X, y)
        check_classification_targets(y)
        if not self.n_blocks >= 1:
            raise ValueError(f"n_blocks={self.n_blocks!r} must be at least 1, e.g. 2")
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise ValueError(f"y holds one class only, {self.classes_[0]!r}; a classifier needs at least two")
        order = check_random_state(self.random_state).permutation(len(X))
        base = SVC() if self.estimator is None else self.estimator
        self.estimators_ = []
        for block in np.array_split(order, min(self.n_blocks, len(X))):
            # A worker that has met one class alone always answers with it.
            one_class = len(np.unique(y[block])) == 1
            self.estimators_.append(y[block][0] if one_class else clone(base).fit(X[block], y[block]))
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the mean of the machines' values: (n,) for two classes, (n, n_classes) for more."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        scores = np.mean([self._scores(machine, X) for machine in self.estimators_], axis=0)
        return np.asarray(scores[:, 1] if len(self.classes_) == 2 else scores)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each row."""
        f = self.decision_function(X)
        codes = (f > 0).astype(np.intp) if f.ndim == 1 else f.argmax(axis=1)
        return np.asarray(self.classes_[codes])

    def _scores(self, machine: Any, X: Any) -> NDArray[np.float64]:
        """Return one machine's value for each class, -1 for classes that it has not met."""
        scores = np.full((len(X), len(self.classes_)), -1.0)
        if not hasattr(machine, "decision_function"):
            scores[:, self.classes_ == machine] = 1.0
            return scores
        f = machine.decision_function(X)
        known = np.searchsorted(self.classes_, machine.classes_)
        scores[:, known] = np.column_stack([-f, f]) if f.ndim == 1 else f
        return scores
