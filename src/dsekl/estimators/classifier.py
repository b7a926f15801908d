"""Classification: labels become targets of -1 and 1, one output for two classes, one per class for more."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils import compute_class_weight
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from dsekl import kernels, losses

from . import compaction, files, inputs
from .callbacks import CallbackSupportMixin, Listeners
from .labels import decisions, targets_of, wrong
from .parameters import CONSTRAINTS
from .training import Examples, evaluate, train

Floats = NDArray[np.float64]


def _gives_probabilities(estimator: Any) -> bool:
    if estimator.loss != "logistic" and not isinstance(estimator.loss, losses.Logistic):
        raise AttributeError(f"predict_proba needs loss='logistic'; this estimator has loss={estimator.loss!r}")
    return True


class DSEKLClassifier(CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """A kernel classifier that keeps every training point in the model.

    ``f(x) = sum_j k(x, x_j) dual_coef_j`` over all training points x_j; the class is the sign of f, or the largest
    of one f per class.

    Parameters
    ----------
    kernel : str, kernel object or callable, default="rbf"
        "rbf", "laplacian", "matern12", "matern32", "matern52", "rational_quadratic", "linear", "poly", "sigmoid",
        "chi2" or "precomputed"; an object of ``dsekl.kernels``, among them ``Radial`` and ``DotProduct`` for a
        scalar function of your own; or a Python function of two sequences of objects that returns their kernel block.
    gamma : "auto", "learn", "scale", "median", float or array of shape (n_features,), default="auto"
        The kernel's width, ``k = exp(-gamma d^2)`` for rbf: one for all features or one for each. "learn" learns one
        for each feature from the data, for every kernel of distances and dense rows; no scaler is needed. "auto" is
        "learn" for dual ascent with such a kernel on 100 dense rows or more, and "scale" (scikit-learn's rule)
        elsewhere.
    loss : {"hinge", "squared_hinge", "logistic", "squared"} or loss object, default="hinge"
        "logistic" gives ``predict_proba``.
    C : "auto" or float, default="auto"
        Weight of the loss against the regularisation, as in scikit-learn's SVC. The paper's lambda is ``1 / (C N)``.
        "auto" chooses C together with a learned gamma, and is 1 elsewhere.
    solver : {"dual", "doubly_stochastic", "shared_memory"} or solver object, default="dual"
        Block dual ascent, which finds the exact kernel machine, or the paper's Algorithm 1 or 2. The objects
        ``dsekl.solvers.DualAscent``, ``DoublyStochastic`` and ``SharedMemory`` have the settings of each.
    expansion : {"empirical", "fixed_subset", "random_fourier"} or expansion object, default="empirical"
        What f is expanded in: all points, a random few, or random Fourier features.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, which multiply ``sample_weight``.
    max_epochs : int, default=100
        Most passes over the data.
    tol : float or None, default=None
        When to stop. Dual ascent: at this relative duality gap, by default where test errors have settled (0.05); 1e-3
        is a tight certificate. Algorithms 1 and 2: when an epoch changes the coefficients by less than this (L2 norm;
        in units of the learning rate for Algorithm 2), by default 0, no such stop, and 1, as in the paper.
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
        Decides everything random.
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
        to the same model, to the bit: call ``fit`` with the same parameters, data and path. ``max_epochs``, ``n_jobs``,
        ``verbose`` and ``callbacks`` may differ. The file stays when the fit is finished: the same fit then returns its
        model at once, and any other replaces it. That of an unfinished fit is never replaced by another fit.
    checkpoint_interval : float, default=60.0
        Seconds between two checkpoints; 0 writes one after every step.
    callbacks : list of callables or None, default=None
        Each is called after every epoch with a ``dsekl.estimators.Report``: the epoch's figures, and the model so far
        if it asks for it. True, returned by any of them, ends the fit. An exception ends it too, with its state kept
        as after Ctrl-C. From version 1.9 on, scikit-learn's own callbacks work as well, through ``set_callbacks``.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    dual_coef_ : array of shape (n_support, n_outputs)
        Coefficients of the terms in the model, zeros left out.
    support_ : array of shape (n_support,)
        Their rows in the training data (empirical expansion only).
    n_support_ : array of shape (n_classes,)
        How many of them each class has.
    gamma_ : float or array
        The gamma that was used.
    C_ : float
        The C that was used.
    metric_ : {"learned", "partly learned", "equal in one unit", "equal"}
        Which weights of the features won on held-out rows (learned gamma only).
    feature_importances_ : array of shape (n_features,)
        Each feature's share of the typical distance between two rows; they add up to 1 (learned gamma only).
    history_ : list of dict
        For each epoch: seconds, epoch, kernel_evaluations, training_loss, change, gap with dual ascent (infinite
        while its sample of the rows grows), and validation_error with early stopping.
    n_iter_ : int
        Epochs run.
    validation_rows_ : array of shape (n_held_out,)
        The rows of X that were held out (early stopping only).
    stop_reason_ : str
        "tol", "validation", "max_epochs", "callback" or "interrupted" (by Ctrl-C).

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from dsekl import DSEKLClassifier
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> bool(DSEKLClassifier(gamma=4.0, random_state=0).fit(X, y).score(X, y) > 0.98)
    True
    """

    _parameter_constraints = {**CONSTRAINTS, "class_weight": [dict, StrOptions({"balanced"}), None]}  # noqa: RUF012

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: Any = "auto",
        loss: Any = "hinge",
        C: float | str = "auto",
        solver: Any = "dual",
        expansion: Any = "empirical",
        class_weight: Any = None,
        max_epochs: int = 100,
        tol: float | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: Any = "auto",
        warm_start: bool = False,
        kernel_tol: float = 1e-6,
        dtype: str = "auto",
        memory_budget: int = 256,
        checkpoint: Any = None,
        checkpoint_interval: float = 60.0,
        callbacks: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.loss = loss
        self.C = C
        self.solver = solver
        self.expansion = expansion
        self.class_weight = class_weight
        self.max_epochs = max_epochs
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.kernel_tol = kernel_tol
        self.dtype = dtype
        self.memory_budget = memory_budget
        self.checkpoint = checkpoint
        self.checkpoint_interval = checkpoint_interval
        self.callbacks = callbacks

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model to the rows of X and their labels y.

        Parameters
        ----------
        X : array, mapped array or CSR of shape (n_samples, n_features), or sequence of objects
            An ``np.memmap`` that is large for ``memory_budget`` is read a part at a time and never held whole; its
            points take as much space in the folder for temporary files (TMPDIR).
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
        """
        loss = losses.resolve(self.loss, "classification")
        X, labels = inputs.training_data(self, kernels.resolve(self.kernel), X, y, inputs.labels)
        weights = inputs.row_weights(sample_weight, X)
        self.classes_ = np.unique(labels[weights > 0])
        if len(self.classes_) < 2:
            raise ValueError(
                f"y holds one class only, {self.classes_[0]!r}; a classifier needs at least two. Check y and "
                "sample_weight."
            )
        counted = weights > 0
        codes = np.searchsorted(self.classes_, labels).clip(max=len(self.classes_) - 1)
        if self.class_weight is not None:
            per_class = compute_class_weight(self.class_weight, classes=self.classes_, y=labels[counted])
            weights = weights * per_class[codes]
        targets = targets_of(codes, len(self.classes_))
        listeners = Listeners(self, X, labels, sample_weight)
        train(self, Examples(X, targets, weights, np.arange(len(targets))), loss, wrong, codes, listeners)
        return self

    def decision_function(self, X: Any) -> Floats:
        """Return f: shape (n_queries,) for two classes, positive for the second; (n_queries, n_classes) for more."""
        check_is_fitted(self)
        f = evaluate(self, X)
        return f[:, 0] if f.shape[1] == 1 else f

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each row."""
        check_is_fitted(self)
        return np.asarray(self.classes_[decisions(evaluate(self, X))])

    @available_if(_gives_probabilities)
    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, shape (n_queries, n_classes); for the logistic loss."""
        f = self.decision_function(X)
        if f.ndim == 1:
            positive = expit(f)
            return np.column_stack([1.0 - positive, positive])
        each = expit(f) + np.finfo(np.float64).tiny
        return np.asarray(each / each.sum(axis=1, keepdims=True))

    @available_if(_gives_probabilities)
    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithm of ``predict_proba``."""
        return np.asarray(np.log(self.predict_proba(X)))

    def compact(self, tolerance: float, X: Any = None) -> Self:
        """Return a model with fewer terms whose f differs by at most ``tolerance`` at the points it has kept.

        The change is measured; where no smaller model keeps the bound, the copy has all terms. What it cost is in its
        ``compaction_``: terms_before, terms_after, largest_change and mean_change at the rows_measured, the share of
        changed_decisions among them, and norm_of_change, in the kernel's space: for kernels with k(x, x) = 1 no row
        whatsoever changes by more.

        Parameters
        ----------
        tolerance : float, the greatest change of f
        X : further rows at which the bound must hold; give the training rows, or it holds at the support vectors alone
        """
        model: Self = compaction.compact(self, tolerance, X)
        return model

    def save(self, path: Any, *, table: dict[str, Any] | None = None, provenance: dict[str, Any] | None = None) -> None:
        """Write the fitted model to a file from which ``dsekl.load`` makes it again, to the bit, running no code.

        Parameters
        ----------
        path : path of the file, replaced as a whole if it exists
        table : JSON-able dict, kept with the model: how raw columns became X, say
        provenance : JSON-able dict, added to the time, platform and versions that every file notes
        """
        files.save(self, path, table, provenance)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        return inputs.with_input_tags(self, tags)
