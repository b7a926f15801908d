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
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from dsekl.estimators import encoded_tables, gaps
from dsekl.estimators.callbacks import Report
from dsekl.estimators.inputs import HEAVIEST
from dsekl.estimators.kernel_estimator import KernelEstimator
from dsekl.estimators.parameters import COUNT, Parameter
from dsekl.estimators.units import NO_UNIT, Unit
from dsekl.losses import Loss
from dsekl.models import Examples, Fitted, Model
from dsekl.models.machine import MEGABYTE
from dsekl.parts import LocalUpdates
from dsekl.rows import ArrayRows
from dsekl.runs import resume
from dsekl.runs.role import Role

from . import frame_blocks
from .beginnings import LastFit, begun, seed_of
from .blocks import Blocks, as_collection, blocks_of, columns_of_no_numbers
from .clients import client_of, not_holding_a_thread
from .cluster import DaskExecutor, rebuilding, require_workers
from .distributed_fit import Given, Listen, Result, fit
from .overview import Overview, overview_of
from .partitions import Encoding
from .predicting import Ending, Reader, as_array, blocks_of_queries, delayed_predictions
from .terms import Support, grouped, importances_of, joined, support_of, without_points
from .unsupported import local_of

Floats = NDArray[np.float64]

IMPORTANCE_ROWS = 1_000
"""Rows that the importances of the features are measured at."""

OWN: dict[str, Parameter] = {
    "n_parts": Parameter("auto", Role.TERMS, [COUNT, StrOptions({"auto"})]),
    "client": Parameter(None, Role.LOCAL, [object]),
}
"""Parameters beside those of the local estimators."""


OF_ONE_FIT = ("_fitted", "_last", "_late", "_local", "_models", "_one_target", "_seed_of_run", "_unit")
"""Attributes of a fit beside those whose names end with an underscore."""


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
    _last: LastFit

    @not_holding_a_thread()
    def to_local(self) -> Any:
        """Return the model as a local estimator, which needs no cluster, and is saved and loaded as any other."""
        models: list[Model] = DaskExecutor(self._model_client).gather(self._held_models())
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
        if isinstance(self.client, Client):
            raise TypeError("client is a connection, which no pickle holds; give the address of its scheduler, or None")
        return dict(vars(self))

    def _read(self, X: Any, y: Any, sample_weight: Any, labels: bool) -> tuple[Client, Blocks, Overview, int]:
        """Check the parameters and look at all rows; return the seed of the run too."""
        self._forget()
        self._validate_params()
        client, local = client_of(self.client), local_of(self)
        X = as_collection(X, "X")
        blocks = blocks_of(X, y, sample_weight)
        no_numbers = columns_of_no_numbers(X)
        if no_numbers and self.strict:
            raise ValueError(f"strict=True, and X has the column {no_numbers[0]}; encode it, or set strict=False")
        require_workers(client)
        local._groups = self._groups
        self._local = local
        self.n_features_in_ = local.n_features_in_ = blocks.n_features
        if blocks.columns is not None:
            self.feature_names_in_ = local.feature_names_in_ = np.array(blocks.columns, dtype=object)
        if no_numbers or not isinstance(self.categorical_features, str):
            blocks = self._encoded(client, blocks)
        overview = self._look(client, blocks, labels, may_have_gaps=not self.strict and "encoder_" not in vars(self))
        if overview is None:
            blocks = self._encoded(client, blocks)
            overview = self._look(client, blocks, labels, may_have_gaps=False)
        assert overview is not None
        if not 1.0 / HEAVIEST <= overview.heaviest <= HEAVIEST:
            raise ValueError(f"sample_weight holds {overview.heaviest:.3g} as its largest; divide it by a constant")
        if not self.strict and "encoder_" not in vars(self):
            self.medians_ = local.medians_ = gaps.medians(ArrayRows(overview.X))
        return client, blocks, overview, self._seed_of_run

    def _look(self, client: Client, blocks: Blocks, labels: bool, may_have_gaps: bool) -> Overview | None:
        """Look at all rows; None where there are gaps, and there may be."""
        self._seed_of_run = seed_of(self, blocks.n_features)
        asked = (blocks, labels, self._seed_of_run, self.checkpoint is not None or self.warm_start, may_have_gaps)
        return rebuilding(lambda executor: overview_of(executor, *asked), client)

    def _encoded(self, client: Client, blocks: Blocks) -> Blocks:
        """Return blocks of numbers, made by an encoder that is learned from all of them."""
        names = None if blocks.columns is None else list(blocks.columns)
        found, encoder = rebuilding(
            lambda executor: frame_blocks.encoded(executor, blocks, self.categorical_features), client
        )
        for estimator in (self, self._local):
            encoded_tables.attach(estimator, encoder, names)
        return found

    def _forget(self) -> None:
        """Leave nothing of an earlier fit but what a warm start goes on from."""
        kept = {"_last"} if self.warm_start else set()
        own = [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]
        for name in {*own, *OF_ONE_FIT} - kept:  # others, as a grid search, have names of their own here
            self.__dict__.pop(name, None)

    def _train(
        self, client: Client, blocks: Blocks, overview: Overview, seed: int, encoding: Encoding, loss: Loss | None,
        sample: Examples, unit: Unit = NO_UNIT,
    ) -> None:  # fmt: skip
        """Fit, and set the attributes of a fitted estimator."""
        machine = self._local._machine(loss, unit)
        run = begun(self, overview, seed, sample.targets.shape[1], unit)
        self.__dict__.pop("_last", None)  # a fit that fails leaves none to go on from
        sample, held_out = sample.split(run.stopping.validation_fraction, np.random.default_rng([seed, 43]))
        n_parts = None if isinstance(self.n_parts, str) else int(self.n_parts)
        updates = self.solver if isinstance(self.solver, LocalUpdates) else None
        listen = self._listeners(lambda fit, found: fit._keep(found, seed, sample, unit)) if self.callbacks else None
        given = Given(
            machine, blocks, overview, encoding, sample, n_parts, held_out, updates, listen, bool(self.warm_start)
        )
        found = fit(client, given, run, lambda found: self._keep(found, seed, sample, unit))
        interrupted = found.monitor.reason == "interrupted"
        if self.warm_start:
            self._last = LastFit.of(run, unit.fitted(self._fitted), interrupted)
        if interrupted:
            path = None if self.checkpoint is None else Path(self.checkpoint)
            raise KeyboardInterrupt(resume.words_after_ctrl_c(run, path, self.warm_start))

    def _listeners(self, keep: Callable[[DaskEstimator, Result], None]) -> Listen:
        """Return what tells the callbacks of each round; ``keep`` gives an estimator what a fit has come to."""
        callbacks = list(self.callbacks)
        for callback in callbacks:
            if not callable(callback):
                raise ValueError(f"callbacks={self.callbacks!r} must be callables that take a Report, not {callback!r}")

        def listen(history: list[dict[str, Any]], so_far: Callable[[], Result]) -> bool:
            def attributes() -> dict[str, Any]:
                twin = copy.copy(self)
                keep(twin, so_far())
                return dict(twin.__dict__)

            report = Report(history[-1], history, self, attributes)
            answers = [callback(report) is True for callback in callbacks]
            return any(answers)

        return listen

    def _set(self, attributes: dict[str, Any]) -> None:
        """Set the attributes of a fitted estimator."""
        self.__dict__.update(attributes)

    def _keep(self, found: Result, seed: int, sample: Examples, unit: Unit) -> None:
        """Set what was fitted as attributes; the terms stay on the workers."""
        ascent, states, executor = found.ascent, found.states, found.ascent.executor
        objective, parts = ascent.parts.objective, ascent.parts.parts
        told: list[Support] = executor.gather(
            [executor.submit(f"support-{p}", support_of, part, states[p]) for p, part in enumerate(parts)]
        )
        sizes = [len(part.places) for part in told]
        self._models = grouped(executor, objective, parts, states, sizes)
        coef = found.coef[found.coef.any(axis=1)]
        trends = [part.trend for part in told if part.trend is not None]
        model = Model(
            without_points(objective), coef, np.sum([part.intercept for part in told], axis=0),
            np.sum(trends, axis=0) if trends else None,
        )  # fmt: skip
        codes = None if sample.classes is None else self._codes(np.concatenate([part.targets for part in told]))
        self._fitted = Fitted(
            model, found.C, found.settled, self._effects(found, model, sample, seed),
            np.concatenate([part.places for part in told]), codes, found.held_out, found.monitor.history,
            found.state.epoch, found.monitor.reason, found.unseen,
        )  # fmt: skip
        self._unit = unit
        attributes = self._local._attributes(unit.fitted(self._fitted), unit.size)
        self._late = attributes.pop("_late")
        del attributes["model_"]
        self.__dict__.update(attributes)

    def _effects(self, found: Result, model: Model, sample: Examples, seed: int) -> Floats | None:
        """Return how much each feature moves f."""
        ascent, rng = found.ascent, np.random.default_rng([seed, 31])
        rows = sample.take(np.sort(rng.permutation(len(sample))[:IMPORTANCE_ROWS])).rows
        assert isinstance(rows, ArrayRows)
        return importances_of(ascent.executor, ascent.parts.parts, found.states, model, rows, len(model.coef), seed)

    def _evaluate(self, X: Any, finish: Callable[[Floats], NDArray[Any]], shape: tuple[int, ...], dtype: Any) -> Any:
        """Return what ``finish`` makes of f, lazily."""
        check_is_fitted(self)
        blocks, lengths = blocks_of_queries(X, self._reader)
        return as_array(self._pieces(blocks, finish), lengths, shape, dtype)

    def _pieces(self, blocks: Sequence[Any], finish: Callable[[Floats], NDArray[Any]]) -> list[Any]:
        """Return what ``finish`` makes of f at blocks of rows, as delayed values."""
        models = self._held_models()
        model = self._unit.fitted(self._fitted).model
        beside = replace(model, coef=model.coef[:0])
        ending = Ending(self._unit.size, beside, finish)
        budget = self.memory_budget * MEGABYTE
        return delayed_predictions(blocks, self._reader, models, budget, ending)

    @property
    def _reader(self) -> Reader:
        """What makes numbers of queries."""
        own = vars(self)
        names = own.get("feature_names_in_")
        listed = [f"x{place}" for place in range(self.n_features_in_)] if names is None else names.tolist()
        return Reader(listed, names is not None, own.get("encoder_"), own.get("medians_"))

    def _held_models(self) -> list[Any]:
        """Return the models on the workers, if they are still there."""
        check_is_fitted(self)
        if any(model.cancelled() for model in self._models):
            raise RuntimeError(
                "the cluster has lost the terms of this model, as a restart does; fit again, and keep to_local() where "
                "a model is to outlive its cluster"
            )
        return self._models

    @property
    def _model_client(self) -> Client:
        """The client that the model was fitted by."""
        client: Client = self._held_models()[0].client
        return client

    def _codes(self, targets: Floats) -> NDArray[np.intp]:
        """Return the codes of the classes that targets stand for."""
        raise NotImplementedError
