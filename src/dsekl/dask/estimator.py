"""What the two estimators on Dask share: the parameters of the local ones, a fit on a cluster, lazy predictions.

Inside is a local estimator, which resolves parameters and makes attributes of what was fitted. It has no model: the
terms stay on the workers until ``to_local`` asks for them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from distributed import Client
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from dsekl.deadline import Budget
from dsekl.estimators import gaps
from dsekl.estimators.inputs import HEAVIEST
from dsekl.estimators.kernel_estimator import KernelEstimator
from dsekl.estimators.parameters import COUNT, Parameter
from dsekl.estimators.units import NO_UNIT, Unit
from dsekl.kernels import Pairwise, VectorKernel
from dsekl.losses import Loss
from dsekl.models import Examples, Fitted, Model
from dsekl.models.machine import MEGABYTE
from dsekl.models.savable import text_of
from dsekl.parts import Hands
from dsekl.rows import ArrayRows
from dsekl.runs import Run, Stopping, checkpoint, resume
from dsekl.runs.identity import Identity
from dsekl.runs.role import Role
from dsekl.workers import Threads

from .blocks import Blocks, blocks_of
from .cluster import DaskHands, client_of, rebuilding, require_workers
from .distributed_fit import Given, Result, fit
from .overview import Overview, overview_of
from .partitions import Encoding
from .predicting import Ending, as_array, blocks_of_queries, delayed_predictions
from .terms import Support, grouped, importances_of, joined, support_of, without_points

Floats = NDArray[np.float64]

IMPORTANCE_ROWS = 1_000
"""Rows that the importances of the features are measured at."""

OWN: dict[str, Parameter] = {
    "n_parts": Parameter("auto", Role.TERMS, [COUNT, StrOptions({"auto"})]),
    "client": Parameter(None, Role.LOCAL, [object]),
}
"""Parameters beside those of the local estimators."""

REFUSED = {
    "early_stopping": "early_stopping=True needs rows that are held out of all parts",
    "warm_start": "warm_start=True goes on from a state in memory; set checkpoint= instead",
    "callbacks": "callbacks get a model after each epoch, which no one machine has here; history_ has the figures",
}
"""Parameters that are not for a cluster, if they are set at all, and why."""


class DaskEstimator(BaseEstimator):
    """A kernel machine whose rows are on a cluster."""

    _local_type: ClassVar[type[KernelEstimator]]
    _roles: ClassVar[dict[str, Role]]

    _groups: NDArray[np.intp] | None = None
    """Features that share a weight, where rows come encoded from the command line."""

    _local: KernelEstimator
    _fitted: Fitted
    _unit: Unit
    _models: list[Any]

    def to_local(self) -> Any:
        """Return the model as a local estimator, which needs no cluster, and is saved and loaded as any other."""
        models: list[Model] = DaskHands(client_of(self.client)).gather(self._held_models())
        fitted = replace(self._fitted, model=replace(self._fitted.model, gram=joined(models)))
        local = copy.copy(self._local)
        local._set(local._attributes(self._unit.fitted(fitted), self._unit.size))
        return local

    def __sklearn_is_fitted__(self) -> bool:
        return "_models" in vars(self)

    def __sklearn_clone__(self) -> Self:
        # A client is a connection, which has no copy.
        parameters = {name: value for name, value in self.get_params(deep=False).items() if name != "client"}
        return type(self)(**{name: clone(value, safe=False) for name, value in parameters.items()}, client=self.client)

    def __getstate__(self) -> dict[str, Any]:
        if "_models" in vars(self):
            raise TypeError("the terms of this model are on a cluster; pickle or save model.to_local()")
        return dict(vars(self))

    def _read(self, X: Any, y: Any, sample_weight: Any, labels: bool) -> tuple[Client, Blocks, Overview, int]:
        """Check the parameters and look at all rows; return the seed of the run too."""
        for name in [name for name in vars(self) if name.endswith("_") or (name.startswith("_") and name != "_groups")]:
            del self.__dict__[name]
        self._validate_params()
        for name, why in REFUSED.items():
            if getattr(self, name):
                raise ValueError(f"{name}={getattr(self, name)!r} is not for Dask: {why}")
        client = client_of(self.client)
        local = self._local_type(**{name: getattr(self, name) for name in self._local_type._roles})
        if not local._exact or local.expansion != "empirical":
            raise ValueError(
                f"solver={self.solver!r} with expansion={self.expansion!r} is not for Dask; set solver='dual' and "
                "expansion='empirical'"
            )
        kernel = local._kernel
        if not isinstance(kernel, VectorKernel) or kernel.pairwise in (Pairwise.OBJECTS, Pairwise.PRECOMPUTED):
            raise ValueError(f"kernel={self.kernel!r} compares no rows of numbers, which Dask's are; choose e.g. 'rbf'")
        if not isinstance(self.C, str) and np.isinf(self.C):
            raise ValueError("C=inf is not for Dask: its certificate is no sum over rows; give a finite C, e.g. 1e6")
        blocks = blocks_of(X, y, sample_weight)
        require_workers(client)
        local._groups = self._groups
        self._local = local
        seed, kept = self._seed(blocks.n_features), self.checkpoint is not None
        overview = rebuilding(lambda hands: overview_of(hands, blocks, labels, seed, kept), client)
        if not 1.0 / HEAVIEST <= overview.heaviest <= HEAVIEST:
            raise ValueError(f"sample_weight holds {overview.heaviest:.3g} as its largest; divide it by a constant")
        self.n_features_in_ = local.n_features_in_ = blocks.n_features
        if not self.strict:
            self.medians_ = local.medians_ = gaps.medians(ArrayRows(overview.X))
        if blocks.columns is not None:
            self.feature_names_in_ = local.feature_names_in_ = np.array(blocks.columns, dtype=object)
        return client, blocks, overview, seed

    def _seed(self, n_features: int) -> int:
        """Return the number that decides on all that is random: that of a checkpoint, where there is one."""
        kept = None if self.checkpoint is None else checkpoint.read(Path(self.checkpoint), n_features)
        if kept is not None and not kept.finished:
            return kept.seed
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _train(
        self, client: Client, blocks: Blocks, overview: Overview, seed: int, encoding: Encoding, loss: Loss | None,
        sample: Examples, unit: Unit = NO_UNIT,
    ) -> None:  # fmt: skip
        """Fit, and set the attributes of a fitted estimator."""
        machine = self._local._machine(loss, unit)
        run = self._run(overview, seed)
        run.units = unit.figures
        n_parts = None if isinstance(self.n_parts, str) else int(self.n_parts)
        given = Given(machine, blocks, overview, encoding, sample, n_parts)
        found = fit(client, given, run, lambda found: self._keep(found, seed, sample, unit))
        if found.monitor.reason == "interrupted":
            path = None if self.checkpoint is None else Path(self.checkpoint)
            raise KeyboardInterrupt(resume.words_after_ctrl_c(run, path, False))

    def _run(self, overview: Overview, seed: int) -> Run:
        """Return the run that a fit goes on with, or a new one."""
        run, path = None, None if self.checkpoint is None else Path(self.checkpoint)
        identity = None
        if path is not None:
            parameters = self.get_params(deep=False)
            texts = {name: text_of(parameters[name]) for name, role in self._roles.items() if role.in_identity}
            identity = Identity.of(texts, overview.digests)
            run = resume.from_checkpoint(path, identity, self.n_features_in_, warm=False)
        run = run or Run(seed, identity=identity)
        run.stopping = Stopping(self.tol, self.max_epochs)
        run.budget, run.verbose, run.workers = Budget.of(self.max_seconds), self.verbose, Threads.of(self.n_jobs)
        if path is not None:
            kept = checkpoint.Checkpoint(path, self.checkpoint_interval, type(self).__name__)
            run.keep, run.keep_if_due = kept.write, kept.write_if_due
        return run

    def _keep(self, found: Result, seed: int, sample: Examples, unit: Unit) -> None:
        """Set what was fitted as attributes; the terms stay on the workers."""
        ascent, states, hands = found.ascent, found.ascent.states, found.ascent.hands
        task, parts = ascent.parts.task, ascent.parts.parts
        told: list[Support] = hands.gather(
            [hands.submit(f"support-{p}", support_of, part, states[p]) for p, part in enumerate(parts)]
        )
        sizes = [len(part.places) for part in told]
        self._models = grouped(hands, task, parts, states, sizes)
        coef = found.state.coef[found.state.coef.any(axis=1)]
        trends = [part.trend for part in told if part.trend is not None]
        model = Model(
            without_points(task), coef, np.sum([part.intercept for part in told], axis=0),
            np.sum(trends, axis=0) if trends else None,
        )  # fmt: skip
        codes = None if sample.classes is None else self._codes(np.concatenate([part.targets for part in told]))
        self._fitted = Fitted(
            model, found.C, found.settled, self._importances(hands, model, sample, seed),
            np.concatenate([part.places for part in told]), codes, None, found.monitor.history, found.state.epoch,
            found.monitor.reason, found.unseen,
        )  # fmt: skip
        self._unit = unit
        attributes = self._local._attributes(unit.fitted(self._fitted), unit.size)
        self._late = attributes.pop("_late")
        del attributes["model_"]
        self.__dict__.update(attributes)

    def _importances(self, hands: Hands, model: Model, sample: Examples, seed: int) -> Floats | None:
        """Return how much each feature moves f, measured where the model is; None where it is in several places."""
        if len(self._models) > 1:
            return None
        rng = np.random.default_rng([seed, 31])
        rows = sample.take(np.sort(rng.permutation(len(sample))[:IMPORTANCE_ROWS])).rows
        asked = hands.submit("importances", importances_of, self._models[0], model.intercept, model.trend, rows, seed)
        (found,) = hands.gather([asked])
        return None if found is None else np.asarray(found)

    def _evaluate(self, X: Any, finish: Callable[[Floats], NDArray[Any]], shape: tuple[int, ...], dtype: Any) -> Any:
        """Return what ``finish`` makes of f, lazily."""
        names = vars(self).get("feature_names_in_")
        check_is_fitted(self)
        blocks, lengths = blocks_of_queries(X, self.n_features_in_, None if names is None else names.tolist())
        return as_array(self._pieces(blocks, finish), lengths, shape, dtype)

    def _pieces(self, blocks: Sequence[Any], finish: Callable[[Floats], NDArray[Any]]) -> list[Any]:
        """Return what ``finish`` makes of f at blocks of rows, as delayed values."""
        models = self._held_models()
        model = self._unit.fitted(self._fitted).model
        beside = replace(model, coef=model.coef[:0])
        ending = Ending(self._unit.size, beside, finish)
        budget = self.memory_budget * MEGABYTE
        return delayed_predictions(blocks, models, self.n_features_in_, budget, ending)

    def _held_models(self) -> list[Any]:
        """Return the models on the workers, if they are still there."""
        check_is_fitted(self)
        if any(model.cancelled() for model in self._models):
            raise RuntimeError(
                "the cluster has lost the terms of this model, as a restart does; fit again, and keep to_local() where "
                "a model is to outlive its cluster"
            )
        return self._models

    def _codes(self, targets: Floats) -> NDArray[np.intp]:
        """Return the codes of the classes that targets stand for."""
        raise NotImplementedError
