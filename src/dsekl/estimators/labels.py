"""Decisions from f, which has one output for two classes and one per class for more, and which of them are wrong."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin

from .targets import whole_numbers

Floats = NDArray[np.float64]


def require_two_classes(classes: NDArray[Any]) -> None:
    """Raise ValueError where there is nothing to tell apart."""
    if len(classes) < 2:
        shown = f"one class only, {classes.tolist()[0]!r}" if len(classes) else "nothing"
        raise ValueError(f"y holds {shown}; a classifier needs at least two classes. Check y and sample_weight.")


def decisions(f: Floats) -> NDArray[np.intp]:
    """Return the code of the class that f (n_rows, n_outputs) decides for."""
    return (f[:, 0] > 0).astype(np.intp) if f.shape[1] == 1 else f.argmax(axis=1)


def wrong(targets: Floats, f: Floats) -> Floats:
    """Return 1 for each row with the wrong label, 0 for the others."""
    return np.asarray(decisions(f) != decisions(targets), dtype=np.float64)


class HasClasses(Protocol):
    """A fitted classifier, as far as decisions need it."""

    classes_: NDArray[Any]

    def _evaluate(self, X: Any) -> Floats: ...


class Classifier(ClassifierMixin):
    """scikit-learn's classifier, which reads labels where it scores as ``fit`` reads them."""

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy on some rows."""
        return float(super().score(X, whole_numbers(y), sample_weight))


class DecisionMixin:
    """``decision_function`` and ``predict`` of a classifier that evaluates f."""

    def decision_function(self: HasClasses, X: Any) -> Floats:
        """Return f: shape (n_queries,) for two classes, positive for the second; (n_queries, n_classes) for more."""
        f = self._evaluate(X)
        return f[:, 0] if f.shape[1] == 1 else f

    def predict(self: HasClasses, X: Any) -> NDArray[Any]:
        """Return the label of each row."""
        f = self._evaluate(X)  # which says so where nothing is fitted
        return np.asarray(self.classes_[decisions(f)])
