"""DSEKLClassifier and DSEKLRegressor under the names and with the parameters of scikit-learn's kernel machines.

As a plugin of pytest (``-p tests.stand_ins``) it puts them in the place of SVC, SVR and KernelRidge, so that
scikit-learn's own tests of those run with the machines of this library.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn.kernel_ridge
import sklearn.svm
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils.validation import check_is_fitted

from dsekl import DSEKLClassifier, DSEKLRegressor, kernels
from dsekl.losses import EpsilonInsensitive

KERNELS = {"poly": kernels.Polynomial, "sigmoid": kernels.Sigmoid}


def cosine(a: Any, b: Any) -> Any:
    """A kernel that scikit-learn knows by name and this library by function."""
    return pairwise_kernels(a, b, metric="cosine")


class StandIn(BaseEstimator):
    """What the three share: parameters go in under scikit-learn's names, attributes come out under them."""

    def _settings(self) -> dict[str, Any]:
        kernel = self.kernel
        if isinstance(kernel, str) and kernel in KERNELS:
            own = {"coef0": self.coef0} | ({"degree": self.degree} if kernel == "poly" else {})
            kernel = KERNELS[kernel](**own)
        kernel = cosine if isinstance(kernel, str) and kernel == "cosine" else kernel
        gamma = self.gamma
        if isinstance(gamma, str) and gamma == "auto":
            gamma = 1.0 / np.shape(self._X)[1]
        return dict(kernel=kernel, gamma=1.0 if gamma is None else gamma, dtype="float64")

    def _fit(self, machine: Any, X: Any, y: Any, sample_weight: Any) -> Any:
        # Near the optimum of libsvm, whose tolerance is 1e-3 on the gradient.
        settings = dict(tol=1e-9, max_epochs=1000, verbose=False, random_state=0)
        self.machine_ = machine.set_params(**settings).fit(X, y, sample_weight=sample_weight)
        self.n_features_in_ = getattr(self.machine_, "n_features_in_", None)
        coef = self.machine_.dual_coef_.T
        self.dual_coef_ = sparse.csr_array(coef) if sparse.issparse(X) else coef
        self.support_ = self.machine_.support_
        self.n_support_ = self.machine_.n_support_.astype(np.int32)
        self.n_iter_ = self.machine_.n_iter_
        self._gamma = getattr(self.machine_, "gamma_", None)
        if not callable(self.kernel) and self.kernel != "precomputed":
            self.support_vectors_ = (X.tocsr() if hasattr(X, "tocsr") else np.asarray(X))[self.support_]
        if isinstance(self.kernel, str) and self.kernel == "linear":
            self.coef_ = self.dual_coef_ @ self.support_vectors_
        return self

    def predict(self, X: Any) -> Any:
        check_is_fitted(self)
        return self.machine_.predict(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse, tags.input_tags.pairwise = True, self.kernel == "precomputed"
        return tags


class SVC(ClassifierMixin, StandIn):
    """The classifier in SVC's place."""

    def __init__(
        self, *, C=1.0, kernel="rbf", degree=3, gamma="scale", coef0=0.0, shrinking=True, probability=False, tol=1e-3,
        cache_size=200, class_weight=None, verbose=False, max_iter=-1, decision_function_shape="ovr", break_ties=False,
        random_state=None,
    ):  # fmt: skip
        vars(self).update({name: value for name, value in locals().items() if name not in ("self", "__class__")})

    def fit(self, X, y, sample_weight=None):
        self._X = X
        own = dict(C=self.C, loss="hinge", fit_intercept=True, class_weight=self.class_weight)
        self._fit(DSEKLClassifier(**own, **self._settings()), X, y, sample_weight)
        self.intercept_ = self.machine_.intercept_
        self.classes_ = self.machine_.classes_
        return self

    def decision_function(self, X):
        check_is_fitted(self)
        return self.machine_.decision_function(X)


class SVR(RegressorMixin, StandIn):
    """The regressor in SVR's place."""

    def __init__(
        self, *, kernel="rbf", degree=3, gamma="scale", coef0=0.0, tol=1e-3, C=1.0, epsilon=0.1, shrinking=True,
        cache_size=200, verbose=False, max_iter=-1,
    ):  # fmt: skip
        vars(self).update({name: value for name, value in locals().items() if name not in ("self", "__class__")})

    def fit(self, X, y, sample_weight=None):
        self._X = X
        own = dict(C=self.C, loss=EpsilonInsensitive(self.epsilon), fit_intercept=True)
        self._fit(DSEKLRegressor(**own, **self._settings()), X, y, sample_weight)
        self.intercept_ = np.atleast_1d(self.machine_.intercept_)
        return self


class KernelRidge(MultiOutputMixin, RegressorMixin, StandIn):
    """The regressor in KernelRidge's place."""

    def __init__(self, alpha=1, *, kernel="linear", gamma=None, degree=3, coef0=1, kernel_params=None):
        vars(self).update({name: value for name, value in locals().items() if name not in ("self", "__class__")})

    def fit(self, X, y, sample_weight=None):
        self._X = X
        settings = self._settings()
        if self.gamma is None:
            settings["gamma"] = 1.0 / np.shape(X)[1]
        machine = DSEKLRegressor(C=1.0 / self.alpha if self.alpha else np.inf, fit_intercept=False, **settings)
        return self._fit(machine, X, y, sample_weight)


def pytest_configure(config: Any) -> None:
    """Take the places, before scikit-learn's tests are imported."""
    sklearn.svm.SVC, sklearn.svm.SVR = SVC, SVR
    sklearn.kernel_ridge.KernelRidge = KernelRidge
