"""Classification of a stream: labels become targets of -1 and 1, as in ``DSEKLClassifier``."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsekl.online.odds import probabilities

from . import inputs
from .classifier import DSEKLClassifier, targets_of
from .labels import Classifier, DecisionMixin, require_two_classes
from .online import Floats, parameters
from .online_supervised import OnlineSupervised
from .parameters import with_parameters
from .plain_rows import plain_labels
from .targets import given_labels


@with_parameters(parameters())
class OnlineDSEKLClassifier(Classifier, DecisionMixin, OnlineSupervised):
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
        learns a weight for each column from the last rows since the stream changed, after 128 of them, 192, 256, 384
        and so on, up to 32,768, then whenever there are as many more (kernels of squared distances). "scale" is
        scikit-learn's rule on the rows so far. No scaler is needed with "auto".
    loss : {"auto", "hinge", "squared_hinge", "logistic", "squared"} or loss object, default="auto"
        "auto" is "hinge" for two classes, and "squared_hinge" for more up to a budget of 4,096. Every one of them
        gives ``predict_proba``.
    C : "auto" or float, default="auto"
        Weight of the loss of a row against the regularisation. "auto" runs models with 0.1, 1 and 10 on the same
        points, and weights them by their recent errors; beyond a budget of 4,096 it is 1.
    budget : int, default=500
        Points that are kept. Up to 4,096, the kernel values of all pairs are held: 8 ``budget**2`` bytes. Beyond, rows
        are learned from in mini-batches, and no matrix is held.
    maintenance : {"merge", "absorb", "project", "random", "oldest"}, default="merge"
        How the number of points is kept within the budget: two points are merged; a point is removed, and its
        coefficients are given to the nearest point, or to its neighbours; or a random point, or the oldest, is removed.
    half_life : "auto", float or None, default="auto"
        Number of rows after which the weight of a row is halved; None never forgets. "auto" runs three models on the
        same points, with half-lives of 1,000 and 100 rows and none, and weights them by their recent losses; beyond a
        budget of 4,096 it forgets all points where a change of the stream has made them worse than none.
    n_cols : int, default=32
        Random points of the buffer that take a step with each row.
    random_state : int, RandomState or None, default=None
        Seed of the random number generator.

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
    trend_ : array of shape (n_features, n_outputs)
    intercept_ : array of shape (n_outputs,)
        ``f(x) = sum_j k(x, x_j) dual_coef_j + <trend_, x> + intercept_``. The latter two are those of the simple models
        beside the kernel machine, which are weighed with it by their errors.
    gamma_ : array of shape (n_features,)
        The gamma of each feature, as it stands.

    See Also
    --------
    DSEKLClassifier : All rows at once, with the optimum certified.
    KernelClassifier : The same for river.

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
    _batch = DSEKLClassifier

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
            All classes that will ever occur; needed in the first call, as in scikit-learn.
        sample_weight : array of shape (n_samples,), optional
        """
        self._check_at_first()
        rows, labels, weights = self._checked(X, y, sample_weight)
        if not self._begun:
            if classes is None:
                raise ValueError("classes must be passed on the first call to partial_fit: all labels that will come")
            self._begin_with(given_labels(classes))
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"classes={classes!r:.60} are not those of the first call, {self.classes_.tolist()}")
        self._learn(rows, labels, weights)
        return self

    def _values(self, y: ArrayLike) -> NDArray[Any]:
        plain = plain_labels(y) if self._begun else None
        return given_labels(y) if plain is None else plain

    def _begin_with(self, values: NDArray[Any]) -> None:
        found = np.unique(values)
        require_two_classes(found)
        self.classes_ = found
        self._begin(1 if len(found) == 2 else len(found))

    def _targets_and_codes(self, values: NDArray[Any]) -> tuple[Floats, NDArray[np.int64]]:
        classes = self.classes_
        if {classes.dtype.kind, values.dtype.kind} == {"i", "u"}:  # which NumPy would compare as floats
            classes, values = classes.astype(object), values.astype(object)
        codes = np.searchsorted(classes, values).clip(max=len(classes) - 1)
        strange = classes[codes] != values
        if strange.any():
            stranger = values[strange].tolist()[0]
            raise ValueError(
                f"y holds {stranger!r}, which is none of the classes {self.classes_.tolist()} of the first call to "
                "partial_fit; nothing was learned from this batch. Give all classes in the first call."
            )
        return targets_of(codes, len(self.classes_)), codes.astype(np.int64)

    def predict_proba(self, X: inputs.MatrixLike) -> Floats:
        """Return the probability of each class, shape (n_queries, n_classes); the largest is that of ``predict``.

        They are learned from the stream's rows as they were predicted before they were learned from, whatever the loss.
        """
        f = self._evaluate(X)
        return probabilities(self.learner_.settled().odds, f)

    def predict_log_proba(self, X: inputs.MatrixLike) -> Floats:
        """Return the logarithm of ``predict_proba``."""
        return np.asarray(np.log(self.predict_proba(X)))
