"""Regression on Dask."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from dsekl import losses
from dsekl.estimators.docstrings import with_parameters_of
from dsekl.estimators.parameters import table, with_parameters
from dsekl.estimators.regressor import DSEKLRegressor
from dsekl.estimators.units import unit_of
from dsekl.losses import RegressionLoss
from dsekl.models import Examples
from dsekl.rows import ArrayRows

from .clients import not_holding_a_thread
from .dask_classifier import DaskDSEKLClassifier, first_or_all
from .estimator import OWN, DaskEstimator
from .lazy_scores import r2
from .partitions import Encoding

Floats = NDArray[np.float64]


def all_targets(f: Floats) -> NDArray[Any]:
    """Return f as it is."""
    return f


@with_parameters_of(DSEKLRegressor)
@with_parameters_of(DaskDSEKLClassifier)
@with_parameters(table(loss="squared") | OWN)
class DaskDSEKLRegressor(RegressorMixin, DaskEstimator):
    """``DSEKLRegressor`` on a Dask cluster; see ``DaskDSEKLClassifier`` for how.

    The constant that is taken off the targets, and the unit that they are fitted in, are those of a sample of up to
    65,536 rows, evenly drawn from all blocks.

    Parameters
    ----------
    loss : {"squared", "epsilon_insensitive", "huber", "quantile"} or loss object, default="squared"
        As in ``DSEKLRegressor``.

    Attributes
    ----------
    dual_coef_, intercept_, trend_, support_, n_support_, gamma_, C_, metric_ : as in ``DSEKLRegressor``
    kernel_, loss_, scale_, feature_importances_ : as in ``DSEKLRegressor``
    medians_, encoder_ : as in ``DaskDSEKLClassifier``
    history_, n_iter_, stop_reason_, validation_rows_ : as in ``DaskDSEKLClassifier``

    See Also
    --------
    DSEKLRegressor : For rows that fit on one machine.
    dask_ml.wrappers.Incremental : Batches for estimators with ``partial_fit``.
    """

    _local_type: ClassVar = DSEKLRegressor

    intercept_: float | Floats

    @not_holding_a_thread()
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model to the rows of X and their targets y.

        Parameters
        ----------
        X : dask array of numbers or dataframe, of shape (n_samples, n_features)
        y : dask array or frame of shape (n_samples,) or (n_samples, n_targets), in blocks as X is
        sample_weight : dask array or column of shape (n_samples,), optional
        """
        loss = losses.resolve(self.loss, "regression")
        client, blocks, overview, seed = self._read(X, y, sample_weight, labels=False)
        self._one_target = overview.y.ndim == 1
        kept = np.flatnonzero(overview.weights > 0)
        weights, targets = overview.weights[kept], overview.y.reshape(len(overview.y), -1)[kept].astype(np.float64)
        unit, loss = unit_of(targets, weights, loss, named=isinstance(self.loss, str), exact=True)
        targets = targets / unit.size
        constants = np.zeros(targets.shape[1])
        if self.fit_intercept and isinstance(loss, RegressionLoss):
            constants = np.array([loss.best_constant(column, weights) for column in targets.T])

        def losses_of_rows(y: Floats, f: Floats) -> Floats:
            return np.asarray(loss.value(y, f).mean(axis=1))

        encoding = Encoding(None, None, constants, unit.size)
        rows, places = ArrayRows(overview.X[kept]), overview.places[kept]
        sample = Examples(rows, targets - constants, weights, places, losses_of_rows)
        self._train(client, blocks, overview, seed, encoding, loss, sample, replace(unit, constants=constants))
        if self._one_target:
            self.intercept_ = float(np.atleast_1d(self.intercept_)[0])
        return self

    def predict(self, X: Any) -> Any:
        """Return the target of each row, lazily: shape (n_queries,) or (n_queries, n_targets)."""
        check_is_fitted(self)
        shape = () if self._one_target else (self._fitted.model.coef.shape[1],)
        return self._evaluate(X, first_or_all if self._one_target else all_targets, shape, np.float64)

    @not_holding_a_thread()
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the coefficient of determination, R^2."""
        return r2(self._model_client, lambda blocks: self._pieces(blocks, all_targets), X, y, sample_weight)

    def to_local(self) -> Any:
        local = super().to_local()
        if self._one_target:
            local.intercept_ = float(local.intercept_[0])
        return local
