"""Classification of a stream: labels become targets of -1 and 1, as in ``DSEKLClassifier``."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils.validation import check_consistent_length

from dsekl.online.odds import probabilities

from . import inputs
from .classifier import DSEKLClassifier, targets_of
from .going_online import went_online
from .labels import DecisionMixin, require_two_classes
from .online import Floats, OnlineEstimator, parameters
from .parameters import with_parameters


@with_parameters(parameters())
class OnlineDSEKLClassifier(ClassifierMixin, DecisionMixin, OnlineEstimator):
    """A kernel classifier that learns one row at a time, keeps a bounded number of points, and forgets.

    A row that violates its condition enters with the exact dual step of its loss, and ``n_cols`` random points of the
    buffer take theirs. Over the budget, two points become one. Batches and single rows give the same model to the bit.

    Parameters
    ----------
    kernel : str or kernel object, default="rbf"
        A kernel of columns, by name or as an object of ``dsekl.kernels``. Merging is known for "rbf" alone; with other
        kernels "merge" means "absorb".
    gamma : "auto", "scale", float or array of shape (n_features,), default="auto"
        The kernel's width, as in ``DSEKLClassifier``. "auto" takes each column in units of its own spread so far, and
        learns a weight for each column from the rows that came first, after 512, 2,048 and 8,192 of them (kernels of
        squared distances). "scale" is scikit-learn's rule on the rows so far. No scaler is needed with "auto".
    loss : {"hinge", "squared_hinge", "logistic", "squared"} or loss object, default="hinge"
        Every one of them gives ``predict_proba``.
    C : float or "auto", default=1.0
        Weight of the loss of a row against the regularisation. "auto" lets machines with 0.2, 1 and 10 share points and
        kernel values, and weighs them by their losses of late; beyond a budget of 4,096 it is 1.
    budget : int, default=500
        Points that are kept. Up to 4,096, the kernel values of all pairs are held: 8 ``budget**2`` bytes. Beyond, rows
        are learned from in mini-batches, and no matrix is held.
    maintenance : {"merge", "absorb", "project", "random", "oldest"}, default="merge"
        What happens over the budget: two points become one between them; a point goes, and the nearest takes over its
        coefficients, or its neighbours do; or a random point, or the oldest, just goes.
    half_life : "auto", float or None, default="auto"
        Rows after which what was learned counts half; None never forgets. "auto" lets three machines share the points,
        which never forget or have half-lives of 1,000 and 100 rows, and weighs them by their recent losses.
    n_cols : int, default=32
        Random points of the buffer that take a step with each row.
    random_state : int, RandomState or None, default=None
        Random seed of everything random.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    n_seen_ : int
        Rows that it has learned from.
    progressive_loss_ : float
        The mean loss of all rows so far, each predicted before it was learned from.
    support_vectors_ : array of shape (n_points, n_features)
        The points of the buffer; merged ones are no rows of the stream.
    dual_coef_ : array of shape (n_points, n_outputs)
    gamma_ : array of shape (n_features,)
        The gamma of each feature, as it stands.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from dsekl import OnlineDSEKLClassifier
    >>> X, y = make_moons(2000, noise=0.1, random_state=0)
    >>> model = OnlineDSEKLClassifier(budget=50, random_state=0)
    >>> for first in range(0, 2000, 100):
    ...     _ = model.partial_fit(X[first : first + 100], y[first : first + 100], classes=[0, 1])
    >>> print(f"{model.score(X, y):.2f}, {len(model.support_vectors_)} points")  # doctest: +NUMBER
    1.00, 50 points
    """

    _task = "classification"

    @classmethod
    def from_model(cls, model: DSEKLClassifier, *, budget: int = 500, **parameters: Any) -> Self:
        """Return an online classifier that predicts what a fitted batch model does, and learns on.

        It has the model's kernel, gamma, loss, C, points and coefficients; its intercept, trend and the scales of its
        columns stay as they are. A model of more points than the budget is compacted to it first: points are merged,
        and the coefficients of those left are the nearest to the model's f.

        Parameters
        ----------
        model : DSEKLClassifier, fitted on rows of numbers or on a frame
        budget : int, default=500
        parameters : maintenance, half_life, n_cols and random_state
        """
        return went_online(cls, model, DSEKLClassifier, budget, parameters)

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self,
        X: inputs.MatrixLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from rows in the order in which they are given.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        classes : array of shape (n_classes,)
            All classes that will ever come; needed in the first call, as in scikit-learn.
        sample_weight : array of shape (n_samples,), optional
        """
        rows, labels, weights = self._checked(X, y, sample_weight, reset=not self._begun)
        if not self._begun:
            if classes is None:
                raise ValueError("classes must be passed on the first call to partial_fit: all labels that will come")
            self._announce(classes)
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"classes={classes!r:.60} are not those of the first call, {self.classes_.tolist()}")
        self._learn(rows, labels, weights)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: inputs.MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Forget everything and learn from rows in one pass, in random order, with a last sweep over the buffer.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
        """
        if y is None:
            raise ValueError(f"{type(self).__name__}.fit requires y to be passed, but the target y is None")
        self.__dict__.pop("learner_", None)
        rows, labels, weights = self._checked(X, y, sample_weight, reset=True)
        inputs.refuse_no_weight(weights)
        self._announce(labels[weights > 0])
        counted = np.flatnonzero(weights > 0)
        order = counted[self._shuffled(len(counted))]
        self._learn(rows[order], labels[order], weights[order])
        self.learner_.settle()
        return self

    def _checked(
        self, X: inputs.MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None, reset: bool
    ) -> tuple[Floats, NDArray[Any], Floats]:
        self._resolved_loss()
        rows = self._rows(X, reset)
        labels = inputs.labels(y)
        check_consistent_length(rows, labels)
        return rows, labels, inputs.stream_weights(sample_weight, len(rows))

    def _announce(self, classes: ArrayLike) -> None:
        found = np.unique(inputs.labels(classes))
        require_two_classes(found)
        self.classes_ = found
        self._begin(1 if len(found) == 2 else len(found))

    def _learn(self, rows: Floats, labels: NDArray[Any], weights: Floats) -> None:
        """Learn from checked rows."""
        codes = np.searchsorted(self.classes_, labels).clip(max=len(self.classes_) - 1)
        strange = self.classes_[codes] != labels
        if strange.any():
            raise ValueError(
                f"y holds {labels[strange][0]!r}, which is none of the classes {self.classes_.tolist()} of the first "
                "call to partial_fit; nothing was learned from this batch. Give all classes in the first call."
            )
        self.learner_.learn(rows, targets_of(codes, len(self.classes_)), weights, codes.astype(np.int64))

    def predict_proba(self, X: inputs.MatrixLike) -> Floats:
        """Return the probability of each class, shape (n_queries, n_classes); the largest is that of ``predict``.

        They are learned from the stream's rows as they were predicted before they were learned from, whatever the loss.
        """
        f = self._evaluate(X)
        return probabilities(self.learner_.settled().odds, f)

    def predict_log_proba(self, X: inputs.MatrixLike) -> Floats:
        """Return the logarithm of ``predict_proba``."""
        return np.asarray(np.log(self.predict_proba(X)))
