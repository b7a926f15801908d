"""Classification on Dask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from dsekl import losses
from dsekl.calibration import Calibration
from dsekl.estimators import inputs
from dsekl.estimators.classifier import CLASS_WEIGHT, OBJECTIVE, DSEKLClassifier
from dsekl.estimators.docstrings import with_parameters_of
from dsekl.estimators.labels import decisions, require_two_classes, wrong
from dsekl.estimators.parameters import table, with_parameters
from dsekl.losses.log_loss import log_losses
from dsekl.models import Examples
from dsekl.parts import LocalUpdates
from dsekl.rows import ArrayRows

from .clients import not_holding_a_thread
from .estimator import OWN, DaskEstimator
from .lazy_scores import accuracy
from .partitions import Encoding

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Labels:
    """Makes labels of f."""

    classes: NDArray[Any]

    def __call__(self, f: Floats) -> NDArray[Any]:
        return np.asarray(self.classes[decisions(f)])


@dataclass(frozen=True)
class Probabilities:
    """Makes probabilities of f."""

    calibration: Calibration

    def __call__(self, f: Floats) -> NDArray[Any]:
        return self.calibration.probabilities(f)


def first_or_all(f: Floats) -> NDArray[Any]:
    """Return f, without its axis where there is one output."""
    return f[:, 0] if f.shape[1] == 1 else f


@with_parameters_of(DSEKLClassifier)
@with_parameters(table(loss="auto", class_weight=CLASS_WEIGHT, objective=OBJECTIVE) | OWN)
class DaskDSEKLClassifier(ClassifierMixin, DaskEstimator):
    """``DSEKLClassifier`` on a Dask cluster: the same machine, with the same certificate, of rows on many machines.

    Rows are cut into parts, which are regions of space with copies of the rows around them, and every round is a local
    epoch in all parts and a common step of exact length. What failed workers held is computed again. One
    ``random_state`` gives one model, to the bit, however many workers there are.

    Parameters
    ----------
    n_parts : "auto" or int, default="auto"
        Regions that the rows are cut into, which is how many workers can work at once. "auto" is 8 for 32,768 rows or
        more, one for each 131,072 rows where that is more, and fewer for fewer rows. It never depends on the workers.
    client : dask.distributed.Client, str or None, default=None
        The cluster, or the address of its scheduler; None takes the client of this process.
    early_stopping : bool, default=False
        Hold out ``validation_fraction`` of a sample of up to 65,536 rows, evenly drawn from all blocks, stop when their
        error has not fallen for ``n_iter_no_change`` rounds, and keep the best round's model.
    solver : "dual" or LocalUpdates, default="dual"
        Dual ascent in parts, or Algorithm 2 of the paper with local updates, for which gamma and C must be numbers.

    Attributes
    ----------
    classes_, dual_coef_, intercept_, trend_, support_, n_support_ : as in ``DSEKLClassifier``
    gamma_, C_, kernel_, loss_, scale_, metric_, calibration_ : as in ``DSEKLClassifier``
    medians_ : array of shape (n_features,)
        Those of the sample; they impute missing values of new rows, if there is no ``encoder_``.
    feature_importances_ : as in ``DSEKLClassifier``
    encoder_ : as in ``DSEKLClassifier``, where X is a frame of more than numbers, or has missing values
    n_iter_, stop_reason_ : as in ``DSEKLClassifier``, of rounds
    validation_rows_ : as in ``DSEKLClassifier``
    history_ : list of dict
        For each round what ``DSEKLClassifier`` has for each epoch, and step_length, halo_ratio (the copies of each
        row), received (bytes of coefficients, and of points that travel, from other parts), and wide: 1 where the
        kernel reaches too much for copies, and blocks of rows travel instead.

    See Also
    --------
    DSEKLClassifier : For rows that fit on one machine.
    dask_ml.wrappers.Incremental : Batches for estimators with ``partial_fit``.
    """

    _local_type: ClassVar = DSEKLClassifier

    classes_: NDArray[Any]

    @not_holding_a_thread()
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model to the rows of X and their labels y.

        Parameters
        ----------
        X : dask array of numbers or dataframe, of shape (n_samples, n_features)
        y : dask array or column of shape (n_samples,), in blocks as X is
        sample_weight : dask array or column of shape (n_samples,), optional
        """
        loss = (
            None if isinstance(self.loss, str) and self.loss == "auto" else losses.resolve(self.loss, "classification")
        )
        client, blocks, overview, seed = self._read(X, y, sample_weight, labels=True)
        assert overview.labels is not None
        assert overview.counts is not None
        classes = self.classes_ = overview.labels
        self._local.__dict__["classes_"] = classes
        require_two_classes(classes)
        weighed = None
        if self.class_weight is not None:
            weighed = inputs.class_weights(self.class_weight, classes, np.repeat(classes, overview.counts))
            if np.count_nonzero(weighed * overview.counts) < 2:
                raise ValueError(f"class_weight={self.class_weight!r} leaves one class only; give two or more a weight")
        errors = log_losses if self.objective == "probabilities" else wrong
        n_outputs = 1 if len(classes) == 2 else len(classes)
        encoding = Encoding(classes, weighed, np.zeros(n_outputs), np.ones(n_outputs))
        targets, weights = encoding.encoded(overview.y, overview.weights)
        kept = np.flatnonzero(weights > 0)
        codes = np.searchsorted(classes, overview.y).clip(max=len(classes) - 1)[kept]
        sample = Examples(
            ArrayRows(overview.X[kept]), targets[kept], weights[kept], overview.places[kept], errors, codes
        )
        self._train(client, blocks, overview, seed, encoding, loss, sample)
        return self

    def decision_function(self, X: Any) -> Any:
        """Return f, lazily: shape (n_queries,) for two classes, (n_queries, n_classes) for more."""
        return self._evaluate(X, first_or_all, self._outputs, np.float64)

    def predict(self, X: Any) -> Any:
        """Return the label of each row, lazily."""
        return self._evaluate(X, Labels(self._known_classes), (), self._known_classes.dtype)

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class, lazily: shape (n_queries, n_classes)."""
        shape = (len(self._known_classes),)
        return self._evaluate(X, Probabilities(self.calibration_), shape, np.float64)

    @not_holding_a_thread()
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows with the right label."""
        labels = Labels(self._known_classes)
        return accuracy(self._model_client, lambda blocks: self._pieces(blocks, labels), X, y, sample_weight)

    @property
    def calibration_(self) -> Calibration:
        """The calibration of probabilities."""
        if isinstance(self.solver, LocalUpdates):
            raise AttributeError("solver=LocalUpdates() knows no rows that its model has not seen, so no probabilities")
        found: Calibration = self._late.value()
        return found

    @property
    def _known_classes(self) -> NDArray[Any]:
        check_is_fitted(self)
        return self.classes_

    @property
    def _outputs(self) -> tuple[int, ...]:
        n = len(self._known_classes)
        return () if n == 2 else (n,)

    def _codes(self, targets: Floats) -> NDArray[np.intp]:
        return decisions(targets)
