"""Outliers in a stream: a one-class machine, ``f >= 1`` at rows that are like those before."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin, _fit_context
from sklearn.utils._param_validation import Interval

from dsekl import losses
from dsekl.losses import Loss
from dsekl.online import Settings
from dsekl.online.stream_settings import MOST_BUDGET
from dsekl.runs.role import Role

from . import inputs
from .docstrings import with_parameters_of
from .online import PARAMETERS, Floats, OnlineEstimator, parameters
from .online_classifier import OnlineDSEKLClassifier
from .parameters import Parameter, with_parameters

CONTAMINATION = Parameter(0.05, Role.PROBLEM, [Interval(Real, 0, 0.5, closed="right")])

C = Parameter(0.03, Role.PROBLEM, PARAMETERS["C"].allowed)

OWN = {name: parameter for name, parameter in parameters(C=C).items() if name != "loss"}


@with_parameters_of(OnlineDSEKLClassifier)
@with_parameters(OWN | {"contamination": CONTAMINATION})
class OnlineDSEKLAnomaly(OutlierMixin, OnlineEstimator):
    """A detector of outliers that learns one row at a time, keeps a bounded number of points, and forgets.

    ``f`` is the function of least norm with ``f >= 1`` at the rows so far, up to losses: a one-class machine. A row
    with a small f is unlike those before it.

    Parameters
    ----------
    C : float or "auto", default=0.03
        Weight of a row against the regularisation: with a large one a few outliers that are alike are usual.
    contamination : float, default=0.05
        Share of the rows that ``predict`` calls outliers: the offset follows this quantile of f, row by row.

    Attributes
    ----------
    offset_ : float
        ``decision_function`` is f less this.
    n_seen_, progressive_loss_, support_vectors_, dual_coef_, gamma_ : as in ``OnlineDSEKLClassifier``

    See Also
    --------
    sklearn.svm.OneClassSVM : All rows at once, with a kernel matrix.
    KernelAnomalyDetector : The same for river.

    Examples
    --------
    >>> import numpy as np
    >>> from dsekl import OnlineDSEKLAnomaly
    >>> X = np.random.default_rng(0).standard_normal((2000, 2))
    >>> model = OnlineDSEKLAnomaly(budget=50, random_state=0).partial_fit(X)
    >>> model.predict([[0.0, 0.0], [6.0, 6.0]]).tolist()
    [1, -1]
    """

    _task = "classification"

    def _resolved_losses(self) -> tuple[Loss, Loss | None]:
        return losses.Hinge(), None

    def _settings(self) -> Settings:
        if self.budget > MOST_BUDGET:
            raise ValueError(
                f"budget={self.budget} is more than {MOST_BUDGET:,} points, the most that a detector keeps"
            )
        # There are no two classes that weights of features could tell apart.
        return replace(super()._settings(), supervised=False)

    def partial_fit(self, X: inputs.MatrixLike, y: None = None) -> Self:
        """Learn from rows in the order in which they are given.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : ignored
        """
        self._check_at_first()
        rows = self._rows(X, reset=not self._begun)
        if not self._begun:
            self.offset_ = 0.0
            self._begin(1)
        self._learn(rows)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: inputs.MatrixLike, y: None = None) -> Self:
        """Forget everything and learn from rows in one pass, in random order, with a last sweep over the buffer.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : ignored
        """
        self.__dict__.pop("learner_", None)
        rows = self._rows(X, reset=True)
        self._begin(1)
        self._learn(rows[self._shuffled(len(rows))])
        self.learner_.settle()
        self.offset_ = float(np.quantile(self.learner_.evaluate(rows), self.contamination))
        return self

    def _learn(self, rows: Floats) -> None:
        """Learn from rows, and let the offset follow what f was before."""
        n, place = len(rows), self.learner_.n_seen
        for f in self._taught(rows, np.ones((n, 1)), np.ones(n), np.zeros(n, dtype=np.int64)):
            assert f is not None  # a detector's budget is small
            for value in f[:, 0].tolist():
                place += 1
                self.offset_ = followed(vars(self).get("offset_", 0.0), value, self.contamination, place)

    def score_samples(self, X: inputs.MatrixLike) -> Floats:
        """Return f at each row: about 1 where rows are as usual, 0 far from all of them."""
        return self._evaluate(X)[:, 0]

    def decision_function(self, X: inputs.MatrixLike) -> Floats:
        """Return f less the offset: negative for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: inputs.MatrixLike) -> NDArray[Any]:
        """Return 1 for rows like those before, -1 for outliers."""
        return np.where(self.decision_function(X) < 0, -1, 1)


def followed(offset: float, value: float, share: float, n_seen: int) -> float:
    """Return an estimate of a quantile after one more value: a step up or down, in the ratio of the shares."""
    rate = float((1.0 + n_seen) ** -0.6)
    return offset + rate * (share if value > offset else share - 1.0)
