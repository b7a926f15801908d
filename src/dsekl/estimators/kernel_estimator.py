"""What the estimators share: from parameters to a machine and a run, from a fitted value to attributes."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from dsekl import expansions, kernels, solvers
from dsekl.data.encoding import TableEncoder
from dsekl.deadline import Budget
from dsekl.kernels import Kernel
from dsekl.losses import Loss
from dsekl.models import Examples, FitInterrupted, Fitted, Machine, fit, witness
from dsekl.models.machine import MEGABYTE, USUAL_KERNEL, USUAL_LOSS
from dsekl.models.savable import text_of
from dsekl.rows import digest
from dsekl.runs import Run, Settled, Stopping, resume
from dsekl.runs.checkpoint import Checkpoint
from dsekl.runs.identity import Identity
from dsekl.workers import Threads

from .callbacks import Listeners
from .fitted import ATTRIBUTES
from .fitted_model import FittedModel
from .late import Late
from .parameters import AUTO
from .seen_tables import EncodedFile
from .units import NO_UNIT, Unit

Floats = NDArray[np.float64]

OF_ONE_FIT = (
    "kernel_",
    "loss_",
    "scale_",
    "feature_importances_",
    "metric_",
    "trend_",
    "support_",
    "n_support_",
    "gamma_",
    "compaction_",
    "validation_rows_",
    "_late",
    "_settled",
    "_importances_of_features",
)
"""Attributes that a fit may or may not have, so that those of an earlier one must go."""


class KernelEstimator(FittedModel):
    """A scikit-learn estimator around a plain ``Machine``."""

    _groups: NDArray[np.intp] | None = None
    """Features that share a weight, where rows come encoded from a cluster."""

    _file: EncodedFile | None = None
    """How rows were encoded that come from the command line."""

    _usual_loss: str = USUAL_LOSS
    """What "auto" is where nothing chooses another loss."""

    _settled_before: Settled | None = None
    """What a fit need not search for, where the command line has it from a fit of most of the rows."""

    _known_coef: Floats | None = None
    """Coefficients of the rows of X in that fit."""

    _keeps_settled: bool = False
    """Whether a fit keeps what it has settled, for a fit of all the rows."""

    _run: Run
    _fitted_with: dict[str, Any]
    _late: Late[Any]
    _settled: Settled

    def _train(
        self, loss: Loss | None, examples: Examples, y: NDArray[Any], sample_weight: ArrayLike | None, budget: Budget,
        unit: Unit = NO_UNIT,
    ) -> None:  # fmt: skip
        """Fit the machine and set the attributes that every fitted estimator has.

        No loss is one to be chosen; ``budget`` has run since the fit began, and ``unit`` is that of the examples.
        """

        def attributes(fitted: Fitted) -> dict[str, Any]:
            found = self._attributes(unit.fitted(fitted), unit.size)
            if not self._decides and y.ndim == 1:
                found["intercept_"] = float(found["intercept_"][0])
            return found

        machine = self._machine(loss, unit)
        run = self._begin(machine, examples)
        run.budget, run.units, listeners = budget, unit.figures, None
        run.known_coef = None if self._known_coef is None else self._known_coef / unit.size
        if self._has_listeners:
            run.watcher = listeners = Listeners(self, attributes, examples.rows.values, y, sample_weight)
        try:
            fitted = fit(machine, examples, run)
        except FitInterrupted as stop:
            self._set(attributes(stop.fitted))
            path = None if self.checkpoint is None else Path(self.checkpoint)
            raise KeyboardInterrupt(resume.words_after_ctrl_c(run, path, self.warm_start)) from None
        if "_run" in vars(self):
            self._run = replace(self._run, monitor=None)  # what comes next is a run of its own
        self._set(attributes(fitted))
        if listeners is not None:
            listeners.after_fit()

    @property
    def _kernel(self) -> Kernel:
        """The kernel that was named; rows are read alike for all that "auto" chooses from."""
        return kernels.resolve(USUAL_KERNEL if self._chooses_kernel else self.kernel)

    @property
    def _chooses_loss(self) -> bool:
        return isinstance(self.loss, str) and self.loss == AUTO

    @property
    def _chooses_kernel(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == AUTO

    @property
    def _exact(self) -> bool:
        """Whether the solver is dual ascent."""
        return isinstance(solvers.resolve(self.solver), solvers.DualAscent)

    @property
    def _learns_gamma(self) -> bool:
        """Whether a fit to many dense rows learns gamma, and goes on from no other."""
        rule = self.gamma if isinstance(self.gamma, str) else None
        learnable = self._kernel.pairwise.is_distance and self._exact and not self.warm_start
        return (
            learnable
            and rule in ("auto", "learn")
            and isinstance(expansions.resolve(self.expansion), expansions.Empirical)
        )

    def _machine(self, loss: Loss | None, unit: Unit) -> Machine:
        encoder: TableEncoder | None = vars(self).get("encoder_") if self._file is None else self._file.encoder
        return Machine(
            None if self._chooses_kernel else self._kernel,
            loss,
            self.gamma,
            None if isinstance(self.C, str) else float(self.C) / unit.C,
            solvers.resolve(self.solver),
            expansions.resolve(self.expansion),
            self.dtype,
            self.kernel_tol,
            self.memory_budget * MEGABYTE,
            self._intercept_of(self.fit_intercept),
            None if isinstance(self.trend, str) else bool(self.trend),
            vars(self).get("feature_names_in_") if encoder is None else np.array(encoder.features, dtype=object),
            self._groups if encoder is None else encoder.groups,
            None if encoder is None else encoder.statistics,
            self._usual_loss,
        )

    def _intercept_of(self, asked: bool | str) -> bool | None:
        """Return whether an intercept is fitted together with f; None where that is to be chosen."""
        if not self._decides and isinstance(expansions.resolve(self.expansion), expansions.RandomFourier):
            return False  # the constant that is taken off the targets is all there is
        return None if isinstance(asked, str) else bool(asked)

    def _begin(self, machine: Machine, examples: Examples) -> Run:
        """Return the run that a fit goes on with, or a new one."""
        last: Run | None = vars(self).get("_run") if self.warm_start else None
        path = None if self.checkpoint is None else Path(os.fspath(self.checkpoint))
        run, shape, solver = None, examples.targets.shape, type(machine.solver)
        identity = self._identity(examples) if self.warm_start or path is not None else None
        if identity is not None and path is not None:
            run = resume.from_checkpoint(path, identity, examples.rows.n_features, warm=last is not None)
        if identity is not None and run is None and last is not None:
            run = resume.from_last_fit(last, identity, shape, solver, self._roles)
        if run is None:
            # One number decides on all that is random in a fit.
            run = Run(int(check_random_state(self.random_state).randint(2**31 - 1)), identity=identity)
            run.settled = self._settled_before
        # While steps are under way the last state is not whole; a fit that fails leaves none to go on from.
        self.__dict__.pop("_run", None)
        run.shape, run.solver = shape, solver
        run.stopping = Stopping(
            self.tol,
            self.max_epochs,
            self.validation_fraction if self.early_stopping else None,
            self.n_iter_no_change,
        )
        run.workers, run.verbose = Threads.of(self.n_jobs), self.verbose
        kept = None if path is None else Checkpoint(path, self.checkpoint_interval, type(self).__name__)
        run.keep = self._keeping(kept)
        if kept is not None:
            run.keep_if_due = kept.write_if_due
        return run

    def _keeping(self, checkpoint: Checkpoint | None) -> Callable[[Run], None]:
        """Return what keeps a run whose state is whole: in its file, and for the next fit of a warm start."""

        def keep(run: Run) -> None:
            if checkpoint is not None:
                checkpoint.write(run)
            if self.warm_start and run.state is not None:
                monitor = None if run.monitor is None else run.monitor.paused()
                self._run = replace(
                    run, monitor=monitor, changed=False, watcher=None, keep=_forget, keep_if_due=_forget
                )

        return keep

    def _identity(self, examples: Examples) -> Identity:
        parameters = self.get_params(deep=False)
        texts = {name: text_of(parameters[name]) for name, role in self._roles.items() if role.in_identity}
        kernel = self._kernel
        texts["kernel"] += witness.kernel_values(kernel, examples.rows)
        texts["loss"] += witness.loss_values(self.loss)
        data = {
            "X": witness.rows_digest(kernel, examples.rows),
            "y": digest(examples.targets),
            "sample_weight": digest(examples.weights),
        }
        return Identity.of(texts, data)

    def _attributes(self, fitted: Fitted, size: Floats) -> dict[str, Any]:
        """Return the attributes of a fitted estimator, whose targets were fitted in units of ``size``."""
        settled = fitted.settled
        used = (settled.loss or self._usual_loss) if self._chooses_loss else self.loss
        chosen_scale = "raw" if settled.scale is None else settled.scale
        optional = {
            "gamma_": settled.gamma,
            "metric_": settled.metric,
            "scale_": chosen_scale if settled.metric is not None else None,
            "trend_": fitted.model.trend,
            "support_": fitted.support,
            "n_support_": None if fitted.support is None else self._support_counts(fitted),
            "validation_rows_": fitted.validation_rows,
        }
        return {
            "kernel_": (settled.kernel or USUAL_KERNEL) if self._chooses_kernel else self.kernel,
            "loss_": used,
            "model_": fitted.model,
            "dual_coef_": fitted.model.coef,
            "intercept_": fitted.model.intercept,
            "C_": fitted.C,
            **{name: value for name, value in optional.items() if value is not None},
            **self._importances(fitted.importances),
            "history_": fitted.history,
            "n_iter_": fitted.n_epochs,
            "stop_reason_": fitted.reason,
            "_late": self._found_late(fitted, used, size),
            **({"_settled": settled} if self._keeps_settled else {}),
        }

    def _all_settled(self) -> Settled:
        """Return what a fit of some more rows need not find out again, predictions of unseen rows included."""
        self._late, unseen = self._late.with_unseen(self.n_jobs)
        return replace(self._settled, unseen=unseen)

    def _importances(self, of_features: Floats | None) -> dict[str, Any]:
        """Return the importances of the user's columns, and those of the features that these became."""
        if of_features is None:
            return {}
        encoder: TableEncoder | None = vars(self).get("encoder_")
        if encoder is None:
            return {"feature_importances_": of_features}
        each = dict(zip(encoder.names, encoder.per_column(of_features), strict=True))
        names = vars(self).get("feature_names_in_", [f"x{place}" for place in range(self.n_features_in_)])
        shares = np.array([each.get(name, 0.0) for name in names])
        return {"feature_importances_": shares, "_importances_of_features": of_features}

    def _found_late(self, fitted: Fitted, loss: Any, size: Floats) -> Late[Any]:
        """Return what rows that the model had not seen say of it, when that is wanted."""
        raise NotImplementedError

    def _support_counts(self, fitted: Fitted) -> NDArray[np.intp]:
        """Return how many support vectors there are, of each class if there are classes."""
        return np.array([fitted.model.n_terms])

    def _set(self, attributes: dict[str, Any]) -> None:
        """Set fitted attributes, and forget those that an earlier fit had beside them."""
        for name in OF_ONE_FIT:
            self.__dict__.pop(name, None)
        self.__dict__.update(attributes)
        self._fitted_with = {name: getattr(self, name) for name, role in self._roles.items() if role.in_identity}

    def _forget_fit(self) -> None:
        """Forget the last fit. A fit that fails leaves no model, rather than parts of two."""
        for name in (*ATTRIBUTES, *OF_ONE_FIT, "model_", "feature_names_in_", "encoder_"):
            self.__dict__.pop(name, None)


def _forget(run: Run) -> None:
    """Keep nothing."""
