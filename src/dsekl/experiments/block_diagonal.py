"""The block-diagonal split: workers share out the rows, each trains an SVM on its own, and their models are averaged.

It is what one gets by pretending that the kernel matrix is block diagonal (Deisenroth and Ng 2015, as the paper
describes it): no worker ever sees a pair of points from two blocks.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.svm import SVC
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data


class BlockDiagonal(ClassifierMixin, BaseEstimator):
    """Independent SVMs on random blocks of the rows, averaged.

    Parameters
    ----------
    gamma : float or str
        Width of the RBF kernel, as in scikit-learn's SVC.
    C : float
        Weight of the loss.
    n_blocks : int
        Blocks, at most as many as there are rows.
    random_state : int, RandomState or None
    """

    def __init__(
        self, gamma: float | str = "scale", *, C: float = 1.0, n_blocks: int = 2,
        random_state: int | RandomState | None = None,
    ) -> None:  # fmt: skip
        self.gamma = gamma
        self.C = C
        self.n_blocks = n_blocks
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit one SVM to each block."""
        rows, labels = validate_data(self, X, y)
        check_classification_targets(labels)
        if not self.n_blocks >= 1:
            raise ValueError(f"n_blocks={self.n_blocks!r} must be at least 1, e.g. 2")
        self.classes_ = np.unique(labels)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y holds one class only, {self.classes_[:1].tolist()[0]!r}; a classifier needs at least two"
            )
        order = check_random_state(self.random_state).permutation(len(rows))
        blocks = np.array_split(order, min(self.n_blocks, len(rows)))
        self.machines_ = [self._machine(rows[block], labels[block]) for block in blocks]
        return self

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the mean of the machines' values: (n,) for two classes, (n, n_classes) for more."""
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False)
        scores = np.mean([self._scores(classes, machine, rows) for classes, machine in self.machines_], axis=0)
        return np.asarray(scores[:, 1] if len(self.classes_) == 2 else scores)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the label of each row."""
        f = self.decision_function(X)
        codes = (f > 0).astype(np.intp) if f.ndim == 1 else f.argmax(axis=1)
        return np.asarray(self.classes_[codes])

    def _machine(self, X: NDArray[Any], y: NDArray[Any]) -> tuple[NDArray[Any], SVC | None]:
        """Return the classes of a block and its SVM; none where there is one class, which it always answers with."""
        classes = np.unique(y)
        return classes, SVC(gamma=self.gamma, C=self.C).fit(X, y) if len(classes) > 1 else None

    def _scores(self, classes: NDArray[Any], machine: SVC | None, X: NDArray[Any]) -> NDArray[np.float64]:
        """Return one machine's value for each class, -1 for classes that it has not met."""
        scores = np.full((len(X), len(self.classes_)), -1.0)
        known = np.searchsorted(self.classes_, classes)
        if machine is None:
            scores[:, known] = 1.0
            return scores
        f = machine.decision_function(X)
        scores[:, known] = np.column_stack([-f, f]) if f.ndim == 1 else f
        return scores
