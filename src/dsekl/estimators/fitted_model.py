"""What can be done with a fitted estimator: evaluate it, make it smaller, write it to a file."""

from __future__ import annotations

import copy
import os
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from dsekl.kernels import Pairwise
from dsekl.models import Model
from dsekl.models.compaction import compact
from dsekl.models.machine import MEGABYTE
from dsekl.runs.role import Role
from dsekl.workers import Threads

from . import inputs, saving
from .callbacks import WithCallbacks
from .labels import decisions
from .parameters import check_tolerance

Floats = NDArray[np.float64]


class FittedModel(WithCallbacks, BaseEstimator):
    """A scikit-learn estimator that has a ``Model``."""

    _roles: ClassVar[dict[str, Role]]
    _decides: ClassVar[bool] = False
    """Whether f stands for a decision between classes."""

    model_: Model
    dual_coef_: Floats
    compaction_: dict[str, Any]

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    def _parameters_of_fit(self) -> dict[str, Any]:
        """Return the parameters; those that made the model as they were then, whatever was set since."""
        return {**self.get_params(deep=False), **vars(self).get("_fitted_with", {})}

    def _evaluate(self, X: inputs.MatrixLike) -> Floats:
        """Return f (n_queries, n_outputs) at the rows of X."""
        check_is_fitted(self)
        rows = inputs.query_rows(self, self.model_.gram.kernel, X)
        return self.model_.evaluate(rows, Threads.of(self.n_jobs), self.memory_budget * MEGABYTE)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[Any]:
        """Return the names of the columns of X, in the order of ``feature_importances_``.

        The first is "x0" where columns have no names. They are the user's columns: the features that a column became
        are in ``encoder_.features``.

        Parameters
        ----------
        input_features : names for columns that have none, or those that ``fit`` has seen
        """
        check_is_fitted(self, "n_features_in_")
        return np.asarray(_check_feature_names_in(self, input_features), dtype=object)

    def compact(self, tolerance: float, X: inputs.MatrixLike | None = None) -> Self:
        """Return a model with fewer terms whose f differs by at most ``tolerance`` at the points it has kept.

        The change is measured; where no smaller model keeps the bound, the copy has all terms. What it cost is in its
        ``compaction_``: terms_before, terms_after, largest_change and mean_change at the rows_measured, for classifiers
        the share of changed_decisions among them, and norm_of_change, in the kernel's space: for kernels with
        k(x, x) = 1, no row whatsoever changes by more in exact arithmetic.

        Parameters
        ----------
        tolerance : float, the greatest change of f
        X : further rows at which the bound must hold; give the training rows, or it holds at the support vectors alone
        """
        check_is_fitted(self)
        check_tolerance(tolerance)
        rows = None if X is None else inputs.query_rows(self, self.model_.gram.kernel, X)
        workers, budget = Threads.of(self.n_jobs), self.memory_budget * MEGABYTE
        found = compact(
            self.model_, tolerance, rows, workers, budget, self.verbose, decisions if self._decides else None
        )
        if found is None:
            was = self._parameters_of_fit()
            raise ValueError(
                f"compact needs the kernel between the model's own points, which kernel={was['kernel']!r} with "
                f"expansion={was['expansion']!r} does not give; it has {self.model_.n_terms} terms. Fit with another "
                "kernel, or with an expansion of fewer terms."
            )
        smaller = copy.copy(self)
        for name in ("_run", "n_support_"):
            smaller.__dict__.pop(name, None)
        if "support_" in vars(self):
            smaller.__dict__["support_"] = vars(self)["support_"][found.kept]
        smaller.model_, smaller.dual_coef_, smaller.compaction_ = found.model, found.model.coef, found.cost
        smaller._after_compaction()
        return smaller

    def _after_compaction(self) -> None:
        """Let go of what was there for other terms."""

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        table: dict[str, Any] | None = None,
        provenance: dict[str, Any] | None = None,
    ) -> None:
        """Write the fitted model to a file from which ``dsekl.load`` makes it again, to the bit, running no code.

        Parameters
        ----------
        path : path of the file, replaced as a whole if it exists
        table : JSON-able dict, kept with the model: how raw columns became X, say
        provenance : JSON-able dict, added to the time, platform and versions that every file notes
        """
        check_is_fitted(self)
        saving.save(self, path, table, provenance)

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn which inputs the kernel takes, also one that ``fit`` would refuse."""
        tags, kernel = super().__sklearn_tags__(), self.kernel
        named = {"precomputed": Pairwise.PRECOMPUTED, "chi2": Pairwise.CHI_SQUARED}
        pairwise = named.get(kernel) if isinstance(kernel, str) else getattr(kernel, "pairwise", None)
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = pairwise is not Pairwise.PRECOMPUTED and not self.strict
        tags.input_tags.pairwise = pairwise is Pairwise.PRECOMPUTED
        tags.input_tags.positive_only = pairwise is Pairwise.CHI_SQUARED
        return tags
