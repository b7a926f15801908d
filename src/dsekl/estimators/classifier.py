"""Classification: labels become targets of -1 and 1, one output for two classes, one per class for more."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if

from dsekl import losses
from dsekl.calibration import Calibration
from dsekl.deadline import Budget
from dsekl.losses.log_loss import log_losses
from dsekl.models import Examples, Fitted
from dsekl.models.machine import USUAL_LOSS
from dsekl.runs.role import Role

from . import inputs
from .kernel_estimator import KernelEstimator
from .labels import DecisionMixin, require_two_classes, wrong
from .late import Calibrating, Late
from .parameters import Parameter, table, with_parameters
from .targets import given_labels

Floats = NDArray[np.float64]

CLASS_WEIGHT = Parameter(None, Role.PROBLEM, [dict, StrOptions({"balanced"}), None])


def _knows_probabilities(estimator: DSEKLClassifier) -> bool:
    if "model_" in vars(estimator) and "_late" not in vars(estimator):
        raise AttributeError(
            "this model came from a file without probabilities: it was saved by dsekl 0.1.0, or before they were first "
            "wanted. Call predict_proba once before save, or fit again."
        )
    return True


OBJECTIVE = Parameter("decisions", Role.TERMS, [StrOptions({"decisions", "probabilities"})])


@with_parameters(table(loss="auto", class_weight=CLASS_WEIGHT, objective=OBJECTIVE))
class DSEKLClassifier(ClassifierMixin, DecisionMixin, KernelEstimator):
    """An exact kernel classifier: no landmarks, learned feature weights, no tuning needed.

    ``f(x) = sum_j k(x, x_j) dual_coef_j + intercept_ + <trend_, x>`` over all training points x_j; the class is the
    sign of f, or the largest of one f per class.

    Parameters
    ----------
    kernel : "auto", str, kernel object or callable, default="auto"
        "auto" lets held-out rows choose, together with a learned gamma: "matern32", which is kept unless "laplacian" or
        "rbf" is clearly better, on columns as they are, or squashed or ranked where they have heavy tails; on more than
        200,000 rows "rbf", whose tail costs least. Where gamma is not learned, "auto" is "rbf" on columns as they are.
        Or name one: "rbf", "laplacian", "matern12", "matern32", "matern52", "rational_quadratic", "linear", "poly",
        "sigmoid", "chi2" or "precomputed"; an object of ``dsekl.kernels``, among them ``Radial`` and ``DotProduct`` for
        a scalar function of your own; or a Python function of two sequences of objects that returns their kernel block.
    gamma : "auto", "learn", "scale", "median", float or array of shape (n_features,), default="auto"
        The kernel's width, ``k = exp(-gamma d^2)`` for rbf: one for all features or one for each. "learn" learns one
        for each feature from the data, for every distance-based (stationary) kernel and dense rows; no scaler is
        needed. "auto" is "learn" for dual ascent with such a kernel on 100 dense rows or more, and "scale"
        (scikit-learn's rule) elsewhere.
    loss : {"auto", "hinge", "squared_hinge", "logistic", "squared"} or loss object, default="auto"
        "auto" is "hinge", unless held-out rows find "squared_hinge" or "logistic" clearly better together with a
        learned gamma. Every one of them gives ``predict_proba``.
    C : "auto" or float, default="auto"
        Weight of the loss against the regularisation, as in scikit-learn's SVC. The paper's lambda is ``1 / (C N)``.
        "auto" chooses C together with a learned gamma, and is 1 elsewhere. ``inf`` allows no row a loss (the hard
        margin): for dual ascent, and every loss but "logistic" and "squared".
    solver : {"dual", "doubly_stochastic", "shared_memory"} or solver object, default="dual"
        Block dual ascent, the exact kernel machine to a stated duality gap, or the paper's Algorithm 1 or 2. The
        objects ``dsekl.solvers.DualAscent``, ``DoublyStochastic`` and ``SharedMemory`` have the settings of each.
    expansion : {"empirical", "fixed_subset", "random_fourier"} or expansion object, default="empirical"
        What f is expanded in: all points, a random few, or random Fourier features.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, which multiply ``sample_weight``.
    objective : {"decisions", "probabilities"}, default="decisions"
        What held-out rows choose by, where anything is left to be chosen: the share of wrong decisions, or the log
        loss, for rankings and probabilities. The default loss is then "logistic", unless held-out rows find another
        clearly better.
    strict : bool, default=False
        Take numbers only, as most of scikit-learn's estimators do: no texts, dates, categories or missing values, at
        fit or at predict.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Columns of X that are categories: those of a frame whose type is category or text, or names, places or a mask
        of columns. None takes all columns but dates for numbers.
    fit_intercept : "auto" or bool, default="auto"
        Whether f has an intercept. It is penalised, as one more term of the kernel's size. "auto" lets held-out rows
        choose together with a learned gamma; elsewhere it is True for dual ascent with the dot-product kernels
        ("linear", "poly", "sigmoid"), whose f would be 0 at the origin.
    trend : "auto" or bool, default="auto"
        Whether f has a linear part beside the kernel's, so that it goes on where there are no training points. It is
        penalised, for columns in their own units. "auto" lets held-out rows choose together with a learned gamma and
        an intercept, and is False elsewhere. For rows of numbers.
    max_epochs : int, default=100
        Maximum number of epochs.
    max_seconds : float or None, default=None
        Seconds that a fit may take, the search for gamma, kernel, loss and C included. The search ends with the best
        that it has found by then, and the solver with the model that it has, within a tenth of the time or one second.
        What is fitted then depends on the speed of the machine. Each call of ``fit`` has all of this time, also one
        that goes on from a checkpoint or by ``warm_start``.
    tol : float or None, default=None
        When to stop. Dual ascent: at this relative duality gap; 1e-3 is a tight certificate. By default where test
        errors have settled: at a gap of 0.05 (hinge), 0.002 (squared) or 0.03 (other regression losses), or a wider one
        of at most 0.3 where the model fits the training rows far better than new ones. Algorithms 1 and 2: when an
        epoch changes the coefficients by less than this (L2 norm), by default 0, no such stop; with Algorithm 2 and
        the paper's steps, in units of the learning rate and by default 1, as in the paper.
    early_stopping : bool, default=False
        Hold out ``validation_fraction`` of the rows, stop when their error has not fallen for ``n_iter_no_change``
        epochs, and keep the best epoch's model.
    validation_fraction : float or int, default=0.1
        Share, or number, of the rows to hold out.
    n_iter_no_change : int, default=5
        Epochs of patience.
    n_jobs : int or None, default=None
        Threads; None and -1 take all cores. The model does not depend on it.
    random_state : int, RandomState or None, default=None
        Random seed of everything random in a fit.
    verbose : "auto", bool or int, default="auto"
        "auto" shows a progress bar on a terminal when a fit lasts; True shows it at once, or logs where there is no
        terminal; False is silent.
    warm_start : bool, default=False
        Go on from the last fit's state, on the same X; y, weights, loss and C may differ.
    kernel_tol : float, default=1e-6
        Kernel values below it may be left out, for kernels that decay with distance: f is then wrong by at most
        ``kernel_tol * sum |dual_coef_|``. 0 leaves nothing out.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Type of kernel values; sums are always float64. "auto" is float64 up to 4,096 rows, where it costs nothing
        noticeable and a large C needs it, and float32 beyond.
    memory_budget : int, default=256
        Megabytes that kernel blocks may take, beside the data and the coefficients. A mapped X that takes more than a
        quarter of it stays in its file.
    checkpoint : path or None, default=None
        File to which a long fit writes where it stands, so that the same fit can go on there after a crash or Ctrl-C,
        to the same model, to the bit: call ``fit`` with the same parameters, data and path. ``max_epochs``,
        ``max_seconds``, ``n_jobs``, ``verbose`` and ``callbacks`` may differ. The file stays when the fit is finished:
        the same fit then returns its model at once, and any other replaces it. That of an unfinished fit is never
        replaced by another fit.
    checkpoint_interval : float, default=60.0
        Seconds between two checkpoints; 0 writes one after every step.
    callbacks : list of callables or None, default=None
        Each is called after every epoch with a ``dsekl.estimators.Report``: the epoch's figures, and the model so far
        if it asks for it. True, returned by any of them, ends the fit. An exception ends it too, with its state kept
        as after Ctrl-C. From version 1.9 on, scikit-learn's own callbacks work as well, through ``set_callbacks``.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels, in order.
    dual_coef_ : array of shape (n_support, n_outputs)
        Coefficients of the terms in the model, zeros left out.
    intercept_ : array of shape (n_outputs,)
        0 without an intercept.
    trend_ : array of shape (n_features, n_outputs)
        The slopes of the linear part, if there is one: of the columns of X, or of the columns on their ``scale_``.
    support_ : array of shape (n_support,)
        Their rows in the training data (empirical expansion only).
    n_support_ : array of shape (n_classes,)
        How many of them each class has.
    gamma_ : float or array
        The gamma that was used.
    C_ : float
        The C that was used.
    kernel_, loss_ : str, kernel object or loss object
        The kernel and the loss that were used: those given, or those that "auto" chose.
    scale_ : {"raw", "squashed", "ranked"}
        The scale of the columns under the kernel (learned gamma only). ``gamma_`` is in its units.
    metric_ : {"selected", "learned", "partly learned", "isotropic", "equal"}
        Which weights of the features won on held-out rows (learned gamma only).
    feature_importances_ : array of shape (n_features,)
        How much each feature moves the fitted f: its share of the mean squared change of f when a row gets that
        feature of another row. They add up to 1; all are 0 where f is constant. Rows of numbers only, and for sparse
        rows only where it is cheap; not where ``max_seconds`` left no time for it.
    history_ : list of dict
        For each epoch: seconds, epoch, kernel_evaluations, training_loss, change, gap with dual ascent (infinite
        while its sample of the rows grows), and validation_error with early stopping.
    n_iter_ : int
        Epochs run.
    encoder_ : dsekl.data.encoding.TableEncoder
        How the columns became numbers (frames and arrays that needed it only). ``feature_importances_`` are those of
        the columns, and ``gamma_`` that of ``encoder_.features``.
    medians_ : array of shape (n_features,)
        What stands in for missing values in new rows, with a warning, where training rows had none (dense rows of
        numbers without an ``encoder_`` only).
    calibration_ : dsekl.calibration.Calibration
        How probabilities are made of f: the ``method``, the ``n_rows`` that it was learned from, their ``log_loss``.
    validation_rows_ : array of shape (n_held_out,)
        The rows of X that were held out (early stopping only).
    stop_reason_ : str
        "tol", "validation", "max_epochs", "max_seconds" (the time ended the solver, or the search before it),
        "callback", or "interrupted" by Ctrl-C: ``fit`` has then raised KeyboardInterrupt, and this is the model so far.

    See Also
    --------
    DSEKLRegressor : The same for numbers.
    OnlineDSEKLClassifier : Learns from a stream, one row at a time.
    sklearn.svm.SVC : The same machine for some ten thousand rows, with a gamma and a C that are given.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import train_test_split
    >>> from dsekl import DSEKLClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
    >>> model = DSEKLClassifier(gamma="learn", random_state=0).fit(X_train, y_train)
    >>> print(f"{model.score(X_test, y_test):.2f}")  # doctest: +NUMBER
    0.96
    """

    _decides = True

    @property
    def _usual_loss(self) -> str:  # type: ignore[override]
        """What "auto" is where nothing chooses another loss."""
        hard = not isinstance(self.C, str) and np.isinf(self.C)
        return "logistic" if self.objective == "probabilities" and not hard else USUAL_LOSS

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: inputs.MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model to the rows of X and their labels y.

        Parameters
        ----------
        X : array, mapped array, CSR or data frame of shape (n_samples, n_features), or sequence of objects
            Frames (pandas, polars and others) may have numbers, booleans, categories, texts, dates and times, and all
            of them, and arrays, missing values.
            An ``np.memmap`` that is large for ``memory_budget`` is read a chunk at a time and never held whole; its
            points take as much space in the folder for temporary files (TMPDIR).
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
        """
        budget = Budget.of(self.max_seconds)
        self._forget_fit()
        loss = None if self._chooses_loss else losses.resolve(self.loss, "classification")
        rows, labels, weights = inputs.training_data(self, self._kernel, X, y, sample_weight, given_labels)
        counted = weights > 0
        self.classes_ = np.unique(labels[counted])
        require_two_classes(self.classes_)
        codes = np.searchsorted(self.classes_, labels).clip(max=len(self.classes_) - 1)
        if self.class_weight is not None:
            weights = weights * inputs.class_weights(self.class_weight, self.classes_, labels[counted])[codes]
            if (np.bincount(codes, weights) > 0).sum() < 2:
                raise ValueError(f"class_weight={self.class_weight!r} leaves one class only; give two or more a weight")
        errors = log_losses if self.objective == "probabilities" else wrong
        examples = Examples.of(rows, targets_of(codes, len(self.classes_)), weights, errors, codes)
        self._train(loss, examples, labels, sample_weight, budget)
        return self

    @available_if(_knows_probabilities)
    def predict_proba(self, X: inputs.MatrixLike) -> Floats:
        """Return the probability of each class, shape (n_queries, n_classes); the largest is that of ``predict``.

        They are learned from training rows as models predicted them that had not seen them (see ``calibration_``).
        Where the fit has made no such predictions, the first call makes up to five further fits.
        """
        f = self._evaluate(X)
        return self.calibration_.probabilities(f)

    @available_if(_knows_probabilities)
    def predict_log_proba(self, X: inputs.MatrixLike) -> Floats:
        """Return the logarithm of ``predict_proba``."""
        return np.asarray(np.log(self.predict_proba(X)))

    @property
    def calibration_(self) -> Calibration:
        """How probabilities are made of f: the method, the rows that it was learned from, and their log loss."""
        found: Calibration = self._late.value()
        return found

    def _found_late(self, fitted: Fitted, loss: Any, size: Floats) -> Late[Any]:
        assert fitted.unseen is not None
        return Late(Calibrating(fitted.unseen, self._has_odds(loss), self.n_jobs))

    @staticmethod
    def _has_odds(loss: Any) -> bool:
        """Tell whether f stands for odds as it is."""
        return isinstance(losses.resolve(loss, "classification"), losses.Logistic)

    def _support_counts(self, fitted: Fitted) -> NDArray[np.intp]:
        assert fitted.support_classes is not None
        return np.bincount(fitted.support_classes, minlength=len(self.classes_))


def targets_of(codes: NDArray[np.intp], n_classes: int) -> Floats:
    """Return -1 and 1: one column for two classes, one against the rest for more."""
    if n_classes == 2:
        return np.where(codes == 1, 1.0, -1.0)[:, None]
    return np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)
