"""What the online estimators share: parameters, rows that are checked, the learner, and files."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from dsekl import kernels
from dsekl.kernels import Pairwise, VectorKernel
from dsekl.losses import Loss
from dsekl.models.compaction import compact
from dsekl.models.online_terms import model_of
from dsekl.online import Learner, Settings
from dsekl.online.large import LargeLearner
from dsekl.online.maintenance import WAYS
from dsekl.online.restricted import restricted
from dsekl.online.stream_settings import MOST_BUDGET, MOST_COLS, stream_losses
from dsekl.rows import ArrayRows
from dsekl.runs import HeldInterrupts
from dsekl.runs.role import Role
from dsekl.workers import chunks

from . import encoded_tables, inputs
from .labels import decisions
from .parameters import ANYTHING, COUNT, Parameter, check_tolerance
from .places import named
from .plain_rows import plain_rows

Floats = NDArray[np.float64]

ROWS_AT_ONCE = 4096
"""Rows for which Ctrl-C may have to wait."""

PARAMETERS: dict[str, Parameter] = {
    "kernel": Parameter("rbf", Role.TERMS, ANYTHING),
    "gamma": Parameter("auto", Role.TERMS, ANYTHING),
    "loss": Parameter("auto", Role.PROBLEM, ANYTHING),
    "C": Parameter("auto", Role.PROBLEM, [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})]),
    "budget": Parameter(500, Role.TERMS, [COUNT]),
    "maintenance": Parameter("merge", Role.COURSE, [StrOptions(set(WAYS))]),
    "half_life": Parameter("auto", Role.COURSE, [Interval(Real, 1, None, closed="left"), StrOptions({"auto"}), None]),
    "n_cols": Parameter(32, Role.COURSE, [Interval(Integral, 0, MOST_COLS, closed="both")]),
    "random_state": Parameter(None, Role.COURSE, ["random_state"]),
}


def parameters(**own: Parameter) -> dict[str, Parameter]:
    """Return the parameters of an online estimator, its own in the place of the shared ones or behind them."""
    return {**PARAMETERS, **own}


class OnlineEstimator(BaseEstimator):
    """A scikit-learn estimator around a ``Learner``."""

    _roles: ClassVar[dict[str, Role]]
    _task: ClassVar[str]
    learner_: Learner | LargeLearner
    compaction_: dict[str, Any]

    def _settings(self) -> Settings:
        kernel, C = self._resolved_kernel(), self.C if isinstance(self.C, str) else float(self.C)
        loss, beyond_two = self._resolved_losses()
        return Settings(
            kernel, loss, self._checked_gamma(), C, int(self.budget), self.maintenance,
            self.half_life, int(self.n_cols), self._task == "classification", beyond_two=beyond_two,
        )  # fmt: skip

    def _resolved_losses(self) -> tuple[Loss, Loss | None]:
        return stream_losses(self.loss, self._task)

    def _resolved_kernel(self) -> VectorKernel:
        kernel = kernels.resolve(self.kernel)
        if not isinstance(kernel, VectorKernel):
            raise ValueError(
                f"kernel={self.kernel!r} compares no rows of numbers, which a stream needs; choose 'rbf' or another "
                "kernel of columns"
            )
        return kernel

    def _checked_gamma(self) -> float | Floats | str:
        gamma = self.gamma
        if isinstance(gamma, str):
            if gamma not in ("auto", "scale"):
                raise ValueError(
                    f"gamma={gamma!r} is not known; give 'auto', 'scale', a number or one for each feature"
                )
            return gamma
        values = np.asarray(gamma, dtype=np.float64)
        if values.ndim > 1 or not (np.isfinite(values).all() and (values >= 0).all() and (values > 0).any()):
            raise ValueError(f"gamma={gamma!r:.60} must be positive and finite, e.g. 1.0; 'auto' learns it")
        if values.ndim == 1 and len(values) != self._n_columns:
            raise ValueError(
                f"gamma has {len(values)} numbers; give one, or one for each of {self._n_columns} features"
            )
        return float(values) if values.ndim == 0 else values

    @property
    def _n_columns(self) -> int:
        """How many numbers a row is for the kernel."""
        encoder = vars(self).get("encoder_")
        return int(self.n_features_in_ if encoder is None else encoder.n_features)

    def _rows(self, X: inputs.MatrixLike, reset: bool) -> Floats:
        """Return X as checked numbers; the first rows decide on the columns."""
        if reset:
            self.__dict__.pop("encoder_", None)
        elif self._takes_plain_rows and (plain := plain_rows(X, self.n_features_in_)) is not None:
            return plain
        found = encoded_tables.encoded(self, X)  # of a batch model that went online
        if found is None:
            with named("X", "give numbers of 64 bits, texts encoded, e.g. by sklearn.preprocessing.OneHotEncoder"):
                found = validate_data(self, X, dtype=np.float64, reset=reset)
        inputs.refuse_unusable(self, self._resolved_kernel(), found)
        return np.ascontiguousarray(found)

    @property
    def _takes_plain_rows(self) -> bool:
        """Whether finite numbers are all that is asked of rows: no names of columns, no encoder, no histograms."""
        own = vars(self)
        known = "learner_" in own and "feature_names_in_" not in own and "encoder_" not in own
        return known and self.learner_.settings.kernel.pairwise is not Pairwise.CHI_SQUARED

    def _begin(self, n_outputs: int) -> None:
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        kind = LargeLearner if self.budget > MOST_BUDGET else Learner
        self.learner_ = kind.start(self._settings(), self.n_features_in_, n_outputs, seed)

    def _taught(
        self, rows: Floats, targets: Floats, weights: Floats, codes: NDArray[np.int64]
    ) -> Iterator[Floats | None]:
        """Learn from rows, and yield what each was predicted to be, some rows at a time; None with large budgets.

        Ctrl-C comes between two of these parts: the machine has learned from all rows before, and from none behind.
        """
        for part in chunks(len(rows), ROWS_AT_ONCE):
            with HeldInterrupts():
                yield self.learner_.learn(rows[part], targets[part], weights[part], codes[part])

    @property
    def _begun(self) -> bool:
        return "learner_" in vars(self)

    def _check_at_first(self) -> None:
        """Check the parameters before the first rows; scikit-learn's decorator takes as long as a row with each."""
        if not self._begun:
            self._validate_params()

    def _shuffled(self, n_rows: int) -> NDArray[np.intp]:
        """Return the order in which ``fit`` takes rows: they are no stream, and may be sorted."""
        return np.random.default_rng(self.learner_.seed).permutation(n_rows)

    def _evaluate(self, X: inputs.MatrixLike) -> Floats:
        if not self._begun:
            check_is_fitted(self, "learner_")
        return self.learner_.evaluate(self._rows(X, reset=False))

    def __sklearn_is_fitted__(self) -> bool:
        return self._begun

    @property
    def n_seen_(self) -> int:
        """How many rows it has learned from."""
        return self._fitted("n_seen_").n_seen

    @property
    def progressive_loss_(self) -> float:
        """The mean loss of all rows so far, each predicted before it was learned from."""
        return self._fitted("progressive_loss_").progressive_loss

    @property
    def support_vectors_(self) -> Floats:
        """The points of the buffer, as rows."""
        return self._fitted("support_vectors_").support_vectors()

    @property
    def dual_coef_(self) -> Floats:
        """The coefficients of the points, (n_points, n_outputs)."""
        learner = self._fitted("dual_coef_").settled()
        return np.asarray(learner.kernel_share * learner.dual_coef())

    @property
    def trend_(self) -> Floats:
        """The slopes of f by the columns beside the sum over points, (n_features, n_outputs)."""
        return self._fitted("trend_").settled().affine()[0]

    @property
    def intercept_(self) -> Floats:
        """What is added to the sum over points and to the trend, (n_outputs,)."""
        return self._fitted("intercept_").settled().affine()[1]

    @property
    def gamma_(self) -> Floats:
        """The gamma of each feature, as it stands."""
        return self._fitted("gamma_").settled().gamma

    def _fitted(self, name: str) -> Learner | LargeLearner:
        if not self._begun:
            raise AttributeError(f"{type(self).__name__} has no {name} before partial_fit or fit")
        return self.learner_

    def compact(self, tolerance: float, X: inputs.MatrixLike | None = None) -> Self:
        """Return a copy with fewer points whose f differs by at most ``tolerance`` at the points it had.

        It goes on from there. What it cost is in its ``compaction_``, as in ``DSEKLClassifier.compact``.

        Parameters
        ----------
        tolerance : float, the greatest change of f
        X : further rows at which the bound must hold
        """
        check_is_fitted(self, "learner_")
        check_tolerance(tolerance)
        learner = self.learner_.settled()
        rows = None if X is None else ArrayRows(learner.columns(self._rows(X, reset=False)))
        model, places = model_of(learner, self._resolved_kernel())
        found = compact(model, tolerance, rows, decide=decisions if self._task == "classification" else None)
        assert found is not None  # the kernel between points is known
        smaller = copy.copy(self)
        smaller.learner_ = restricted(learner, places[found.kept], found.model.coef)
        smaller.compaction_ = found.cost
        return smaller

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        table: dict[str, Any] | None = None,
        provenance: dict[str, Any] | None = None,
    ) -> None:
        """Write the machine to a file from which ``dsekl.load`` makes it again, to go on to the bit; no code is in it.

        Parameters
        ----------
        path : path of the file, replaced as a whole if it exists
        table : JSON-able dict, kept with the model: how raw columns became X, say
        provenance : JSON-able dict, added to the time, platform and versions that every file notes
        """
        from . import online_files

        check_is_fitted(self, "learner_")
        online_files.save(self, path, table, provenance)

    def __sklearn_tags__(self) -> Tags:
        tags, kernel = super().__sklearn_tags__(), self.kernel
        pairwise = Pairwise.CHI_SQUARED if kernel == "chi2" else getattr(kernel, "pairwise", None)
        tags.input_tags.positive_only = pairwise is Pairwise.CHI_SQUARED
        return tags
