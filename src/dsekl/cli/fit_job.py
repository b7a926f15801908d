"""The work of ``dsekl fit``: a model that is judged by held-out rows, one of all rows after it, and the file."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer

from . import options as o
from .console import Output
from .held_out import Places, fit_without, refitted, scores_of, settled_by
from .models import FittedModel
from .reading import TrainingSet
from .signals import INTERRUPTED
from .summary import save_model, summarise

LEAST_TIME = 0.1
"""Share of ``--max-seconds`` that must be left for all rows to be fitted."""


@dataclass
class FitJob:
    """One table and how it is to be fitted; by the workers of a ``client``, where there is one."""

    output: Output
    training: TrainingSet
    loss: str | None
    settings: dict[str, Any]
    source: Path
    path: Path
    client: Any
    seconds: dict[str, float] = field(default_factory=dict)

    def run(self, held_out: Places | None, refit: bool) -> tuple[dict[str, Any], dict[str, Any] | None]:
        """Write the model; return its summary, and the scores of the held-out rows."""
        training, clock = self.training, Clock(self.seconds, self.training.seconds)
        limit = self.settings["max_seconds"]
        self._allow(limit, clock)
        trained = self._on_cluster() if self.client is not None else self._without(held_out)
        clock.stop("fit")
        goes_on = held_out is not None and refit and trained.stop_reason_ != "interrupted"
        settled = settled_by(trained) if goes_on else None
        save_model(trained, self.path, training.recipe, self.source)
        scores = None if held_out is None else scores_of(trained, training, held_out)
        clock.stop("scores")
        whole = self._of_all_rows(trained, settled, self._allow(limit, clock)) if goes_on else None
        if whole is not None:
            trained = whole
            save_model(trained, self.path, training.recipe, self.source)
        clock.stop("all rows" if goes_on else None)
        n_left_out = 0 if held_out is None or whole is not None else len(held_out)
        summary = summarise(trained, training.recipe, self.path, self.seconds)
        summary |= {"fitted_rows": training.recipe.n_rows - n_left_out, "stopped": trained.stop_reason_}
        return summary, scores

    def _without(self, held_out: Places | None) -> FittedModel:
        """Return a model that has not seen the held-out rows."""
        estimator, fit = fit_without(self.training, self.loss, self.settings, held_out)
        return self._unless_stopped(fit, estimator)

    def _on_cluster(self) -> FittedModel:
        from .clusters import fitted_on

        return self._unless_stopped(lambda: fitted_on(self.client, self.training, self.loss, self.settings))

    def _unless_stopped(self, fit: Callable[[], FittedModel], estimator: FittedModel | None = None) -> FittedModel:
        try:
            with self.output.warnings_as_notes():
                return fit()
        except KeyboardInterrupt:
            # A fit that was stopped leaves the model so far in its estimator, if it had come to one.
            if estimator is not None and hasattr(estimator, "model_"):
                return estimator
            self.output.note("stopped before the first epoch; no model was written")
            raise typer.Exit(INTERRUPTED) from None

    def _allow(self, limit: float | None, clock: Clock) -> bool:
        """Give a fit the time that is left of ``--max-seconds``; tell whether that is worth a further one."""
        if limit is None:
            return True
        left = limit - clock.total
        self.settings = self.settings | dict(max_seconds=max(left, o.NEXT_TO_NOTHING))
        return left >= LEAST_TIME * limit

    def _of_all_rows(self, judged: FittedModel, settled: Any, in_time: bool) -> FittedModel | None:
        """Return the judged machine fitted to all rows; None where there is no time for it."""
        if not in_time:
            self.output.note(f"no time is left to fit all rows; {self.path} holds the model that was judged")
            return None
        try:
            with self.output.warnings_as_notes():
                return refitted(judged, settled, self.training, self.loss, self.settings)
        except KeyboardInterrupt:
            self.output.note(f"stopped; {self.path} holds the model that was judged, without the held-out rows")
            raise typer.Exit(INTERRUPTED) from None


class Clock:
    """Writes down the seconds that each step takes."""

    def __init__(self, seconds: dict[str, float], reading: float) -> None:
        self._seconds, self._last = seconds, time.perf_counter()
        self._started = self._last - reading
        seconds["read"] = reading

    @property
    def total(self) -> float:
        """The seconds since the table was opened."""
        return time.perf_counter() - self._started

    def stop(self, step: str | None) -> None:
        """Write down the time since the last step, if it has a name."""
        now = time.perf_counter()
        if step is not None:
            self._seconds[step] = now - self._last
        self._last = now
