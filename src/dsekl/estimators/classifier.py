"""Classification: labels become targets of -1 and 1, one output for two classes, one per class for more."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
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
from .labels import Classifier, DecisionMixin, require_two_classes, wrong
from .late import Calibrating, Late
from .parameters import Parameter, table, with_parameters
from .targets import given_labels

Floats = NDArray[np.float64]

CLASS_WEIGHT = Parameter(None, Role.PROBLEM, [dict, StrOptions({"balanced"}), None])


def _knows_probabilities(estimator: DSEKLClassifier) -> bool:
    if "model_" in vars(estimator) and "_late" not in vars(estimator):
        raise AttributeError(
            "this model came from a file without probabilities: it was saved by dsekl 0.1.0, or before their first "
            "use. Call predict_proba once before save, or fit again."
        )
    return True


OBJECTIVE = Parameter("decisions", Role.TERMS, [StrOptions({"decisions", "probabilities"})])


@with_parameters(table(loss="auto", class_weight=CLASS_WEIGHT, objective=OBJECTIVE))
class DSEKLClassifier(Classifier, DecisionMixin, KernelEstimator):
    """An exact kernel classifier: no landmarks, learned feature weights, no tuning needed.

    ``f(x) = sum_j k(x, x_j) dual_coef_j + intercept_ + <trend_, x>`` over all training points x_j; the class is the
    sign of f, or the largest of one f per class.

    Parameters
    ----------
    kernel : "auto", str, kernel object or callable, default="auto"
        "auto" chooses on held-out rows, together with a learned gamma: "matern32", unless "laplacian" or "rbf" is
        clearly better; columns with heavy tails may be squashed or ranked. On more than 200,000 rows it is "rbf", which
        is the cheapest. Where gamma is not learned, it is "rbf", with columns unchanged. Or one of "rbf", "laplacian",
        "matern12", "matern32", "matern52", "rational_quadratic", "linear", "poly", "sigmoid", "chi2" or "precomputed";
        an object of ``dsekl.kernels``, among them ``Radial`` and ``DotProduct`` for a scalar function of your own; or a
        Python function of two sequences of objects that returns their kernel block.
    gamma : "auto", "learn", "scale", "median", float or array of shape (n_features,), default="auto"
        Kernel coefficient, ``k = exp(-gamma d^2)`` for rbf: one for all features or one for each. "learn" learns one
        for each feature from the data, for every distance-based (stationary) kernel and dense rows; no scaler is
        needed. "auto" is "learn" for dual ascent with such a kernel on 30 dense rows or more, and "scale"
        (scikit-learn's rule) elsewhere.
    loss : {"auto", "hinge", "squared_hinge", "logistic", "squared"} or loss object, default="auto"
        "auto" is "hinge", unless "squared_hinge" or "logistic" is clearly better on held-out rows (with a learned gamma
        only). Every loss gives ``predict_proba``.
    C : "auto" or float, default="auto"
        Inverse regularisation strength, as in scikit-learn's SVC. The paper's lambda is ``1 / (C N)``.
        "auto" chooses C together with a learned gamma, and is 1 elsewhere. ``inf`` is the hard margin, with no
        loss at any row: for dual ascent, and every loss but "logistic" and "squared".
    solver : {"dual", "doubly_stochastic", "shared_memory"} or solver object, default="dual"
        Block dual ascent, the exact kernel machine to a stated duality gap, or the paper's Algorithm 1 or 2. The
        objects ``dsekl.solvers.DualAscent``, ``DoublyStochastic`` and ``SharedMemory`` have the settings of each.
    expansion : {"empirical", "fixed_subset", "random_fourier"} or expansion object, default="empirical"
        What f is expanded in: all points, a random few, or random Fourier features.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, which multiply ``sample_weight``.
    objective : {"decisions", "probabilities"}, default="decisions"
        The score by which everything that is "auto" is chosen on held-out rows: the error rate, or the log loss, for
        rankings and probabilities. With the latter ``loss="auto"`` is "logistic", unless another is clearly better.
    strict : bool, default=False
        Accept numbers only, as most of scikit-learn's estimators do: no texts, dates, categories or missing values, in
        fit or in predict.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Categorical columns of X: those of a frame whose type is category or text, or names, indices or a mask of
        columns. None treats all columns but dates as numeric.
    fit_intercept : "auto" or bool, default="auto"
        Whether f has an intercept, which is penalised a little. With a learned gamma "auto" chooses on held-out rows;
        elsewhere it is True for dual ascent with the dot-product kernels ("linear", "poly", "sigmoid"), whose f would
        be 0 at the origin.
    trend : "auto" or bool, default="auto"
        Whether a linear function is added to f, for extrapolation beyond the training points. It is penalised, with
        columns in units of their spread. With a learned gamma "auto" chooses on held-out rows, together with the
        intercept; elsewhere it is False. For numeric rows.
    max_epochs : int, default=100
        Maximum number of epochs.
    max_seconds : float or None, default=None
        Time budget of a fit, the search for gamma, kernel, loss and C included. The search ends with the best candidate
        so far, and the solver with the current model, within a tenth of the time or one second. The model then depends
        on the speed of the machine. Each call of ``fit`` has the whole budget, also one that continues from a
        checkpoint or by ``warm_start``.
    tol : float or None, default=None
        Tolerance of the stopping rule. Dual ascent stops at this relative duality gap; 1e-3 is tight. By default it
        stops where test errors no longer change: at a gap of 0.05 (hinge), 0.002 (squared) or 0.03 (other regression
        losses), or a wider one of at most 0.3 where the model fits the training rows far better than new ones.
        Algorithms 1 and 2 stop when an epoch changes the coefficients by less than this (L2 norm); the default is 0,
        which never stops. With Algorithm 2 and the paper's steps it is in units of the learning rate, and by default 1,
        as in the paper.
    early_stopping : bool, default=False
        Hold out ``validation_fraction`` of the rows, stop when their error has not fallen for ``n_iter_no_change``
        epochs, and keep the best epoch's model.
    validation_fraction : float or int, default=0.1
        Share, or number, of the rows to hold out.
    n_iter_no_change : int, default=5
        Epochs without improvement after which early stopping ends the fit.
    n_jobs : int or None, default=None
        Number of threads; None and -1 mean all cores. The model does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the random number generator.
    verbose : "auto", bool or int, default="auto"
        "auto" shows a progress bar on a terminal or in a notebook if a fit takes longer than a second; True shows it
        immediately, or logs where there is neither; False is silent.
    warm_start : bool, default=False
        Continue from the solution of the last fit, on the same X; y, weights, loss and C may differ.
    kernel_tol : float, default=1e-6
        Kernel values below it may be skipped, for kernels that decay with distance: the error of f is then at most
        ``kernel_tol * sum |dual_coef_|``. With 0 none are skipped.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Type of kernel values; sums are always float64. "auto" is float64 up to 4,096 rows, and float32
        beyond.
    memory_budget : int, default=256
        Megabytes for blocks of kernel values, in addition to the data and the coefficients. A memory-mapped X larger
        than a quarter of it is read in chunks.
    checkpoint : path or None, default=None
        File to which a long fit saves its state. After a crash or Ctrl-C, call ``fit`` with the same parameters, data
        and path: it continues, to the same model, bit for bit. ``max_epochs``, ``max_seconds``, ``n_jobs``, ``verbose``
        and ``callbacks`` may differ. The file is kept when the fit is finished: the same fit then returns its model
        immediately, and a different fit replaces the file. The file of an unfinished fit is never replaced by another
        fit.
    checkpoint_interval : float, default=60.0
        Seconds between two checkpoints; 0 writes one after every step.
    callbacks : list of callables or None, default=None
        Each is called after every epoch with a ``dsekl.estimators.Report``, which has the entry of ``history_`` and can
        return the current model. If one returns True, the fit ends. An exception ends it too, with its state kept as
        after Ctrl-C. From version 1.9 on, scikit-learn's own callbacks work as well, through ``set_callbacks``.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels, in order.
    dual_coef_ : array of shape (n_support, n_outputs)
        Coefficients of the support vectors.
    intercept_ : array of shape (n_outputs,)
        0 without an intercept.
    trend_ : array of shape (n_features, n_outputs)
        Coefficients of the linear trend, if there is one: of the columns of X, or of the columns transformed by
        ``scale_``.
    support_ : array of shape (n_support,)
        Indices of the support vectors in the training data (empirical expansion only).
    n_support_ : array of shape (n_classes,)
        Number of support vectors of each class.
    gamma_ : float or array
        The gamma that was used.
    C_ : float
        The C that was used.
    kernel_, loss_ : str, kernel object or loss object
        The kernel and the loss that were used: those given, or those chosen by "auto".
    scale_ : {"raw", "squashed", "ranked"}
        The transformation of the columns (learned gamma only). ``gamma_`` applies to the transformed columns.
    metric_ : {"selected", "learned", "partly learned", "isotropic", "equal"}
        The kind of feature weights that was chosen on held-out rows (learned gamma only).
    feature_importances_ : array of shape (n_features,)
        Importance of each feature for the fitted f: its share of the mean squared change of f when the feature is
        replaced by that of another row. They add up to 1; all are 0 if f is constant. For numeric rows only, for sparse
        rows only where it is cheap, and not if ``max_seconds`` left no time for it.
    history_ : list of dict
        For each epoch: seconds, epoch, kernel_evaluations, training_loss, change, gap with dual ascent (infinite
        while its sample of the rows grows), and validation_error with early stopping.
    n_iter_ : int
        Number of epochs.
    encoder_ : dsekl.data.encoding.TableEncoder
        The encoding of the columns as numbers, if there is one. ``feature_importances_`` are those of the columns, and
        ``gamma_`` that of ``encoder_.features``.
    medians_ : array of shape (n_features,)
        Medians of the columns, which impute missing values in new rows if training rows had none, with a warning (dense
        numeric rows without an ``encoder_`` only).
    calibration_ : dsekl.calibration.Calibration
        The calibration of probabilities: its ``method``, the ``n_rows`` it was fitted to, and their ``log_loss``.
    validation_rows_ : array of shape (n_held_out,)
        The rows of X that were held out (early stopping only).
    stop_reason_ : str
        "tol", "validation", "max_epochs", "max_seconds" (the time ended the solver, or the search before it),
        "callback", or "interrupted" by Ctrl-C: ``fit`` has then raised KeyboardInterrupt, and this is the current
        model.

    See Also
    --------
    DSEKLRegressor : The same for regression.
    OnlineDSEKLClassifier : Learns from a stream, one row at a time.
    sklearn.svm.SVC : For up to tens of thousands of rows, with given gamma and C.

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

        They are calibrated on out-of-sample predictions of the training rows (see ``calibration_``). Where the fit has
        made no such predictions, the first call makes up to five further fits.
        """
        f = self._evaluate(X)
        return self.calibration_.probabilities(f)

    @available_if(_knows_probabilities)
    def predict_log_proba(self, X: inputs.MatrixLike) -> Floats:
        """Return the logarithm of ``predict_proba``."""
        return np.asarray(np.log(self.predict_proba(X)))

    @property
    def calibration_(self) -> Calibration:
        """The calibration of probabilities: the method, the rows it was fitted to, and their log loss."""
        found: Calibration = self._late.value()
        return found

    def _found_late(self, fitted: Fitted, loss: Any, size: Floats) -> Late[Any]:
        assert fitted.unseen is not None
        by_itself = fitted.validation_rows is not None
        return Late(Calibrating(fitted.unseen, self._has_odds(loss), by_itself, self.n_jobs))

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
