"""Callbacks: what a fit tells others after each epoch, and how they end it.

A callback is anything that can be called with a ``Report``; if it returns True, the fit ends with the model so far and
``stop_reason_ = "callback"``. scikit-learn's own callbacks (``estimator.set_callbacks(...)``, from scikit-learn 1.9 on)
see the fit as a task with one subtask for each epoch.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from dsekl.models import Fitted

if TYPE_CHECKING:
    from .kernel_estimator import KernelEstimator

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing: this scikit-learn has no callbacks."""


class WithCallbacks(CallbackSupportMixin):
    """What scikit-learn's callbacks and those of the parameter ``callbacks`` listen to."""

    @property
    def _has_scikit_learn_callbacks(self) -> bool:
        return bool(getattr(self, "_skl_callbacks", None)) or hasattr(self, "_parent_callback_ctx")

    @property
    def _has_listeners(self) -> bool:
        return bool(self.callbacks) or self._has_scikit_learn_callbacks


@dataclass(frozen=True)
class Report:
    """What a callback is told.

    Attributes
    ----------
    record : dict
        The epoch's entry of ``history_``: seconds, epoch, kernel_evaluations, training_loss, change, gap with dual
        ascent, validation_error with early stopping.
    history : list of dict
        All entries so far, the same dicts that ``history_`` will hold.
    estimator : estimator
        The estimator that is being fitted; not fitted yet, so look at its parameters alone.
    """

    record: dict[str, Any]
    history: list[dict[str, Any]]
    estimator: Any
    _fitted: Callable[[], dict[str, Any]] = field(repr=False)

    def model(self) -> Any:
        """Return a fitted copy of the estimator, as if the run had ended here; it costs a copy of the support."""
        model = copy.copy(self.estimator)
        model._set(self._fitted())
        return model


class Listeners:
    """All that listens to one fit, which begins when they are made."""

    def __init__(
        self,
        estimator: KernelEstimator,
        attributes: Callable[[Fitted], dict[str, Any]],
        X: object,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
    ) -> None:
        self._estimator, self._attributes = estimator, attributes
        self._callbacks = list(estimator.callbacks or ())
        for callback in self._callbacks:
            if not callable(callback):
                raise ValueError(
                    f"callbacks={estimator.callbacks!r} must be callables that take a Report, but {callback!r} cannot "
                    "be called; scikit-learn's callbacks go to set_callbacks(...)"
                )
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        self._data: dict[str, object] = {"X": X, "y": y, "metadata": metadata}
        self._fit: Any = None
        self._epoch: Any = None
        if estimator._has_scikit_learn_callbacks:
            self._fit = estimator._init_callback_context(max_subtasks=estimator.max_epochs)
            self._fit.call_on_fit_task_begin(estimator=estimator, **self._data)

    def before_epoch(self) -> None:
        """Tell scikit-learn's callbacks that an epoch begins."""
        if self._fit is not None:
            self._epoch = self._fit.subcontext(task_name="epoch")
            self._epoch.call_on_fit_task_begin(estimator=self._estimator, **self._data)

    def after_epoch(self, history: list[dict[str, Any]], fitted: Callable[[], Fitted]) -> bool:
        """Tell all callbacks of an epoch; ``fitted`` makes the fit as if it had ended here. True ends the run."""

        def attributes() -> dict[str, Any]:
            return self._attributes(fitted())

        report = Report(history[-1], history, self._estimator, attributes)
        stop = [callback(report) is True for callback in self._callbacks]
        if self._epoch is not None:
            stop.append(self._end(self._epoch, attributes))
        return any(stop)

    def after_fit(self) -> None:
        """Tell scikit-learn's callbacks that the estimator is fitted."""
        if self._fit is not None:
            self._end(self._fit, dict)

    def _end(self, task: Any, fitted: Callable[[], dict[str, Any]]) -> bool:
        told = {**self._data, "reconstruction_attributes": fitted}
        return bool(task.call_on_fit_task_end(estimator=self._estimator, **told))
