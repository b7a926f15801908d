"""The run of ``dsekl stream``: the machine, how far it has come in its stream, how it did, and its files."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dsekl.data.errors import DataFileError
from dsekl.data.layout import no_column
from dsekl.data.streamed import StreamedRow, label_of

from . import options as o
from .console import UsageError
from .prediction_log import PredictionLog
from .progressive import Scores, count_of
from .streams import naming

LOSSES = {
    "classification": ("auto", "hinge", "squared_hinge", "logistic", "squared"),
    "regression": o.LOSSES["regression"],
}
"""Written here as well as in the library, so that ``--help`` need not import it; a test compares them."""

DEFAULT_C: dict[str, float | str] = {"classification": "auto", "regression": 10.0}

DEFAULTS: dict[str, Any] = dict(
    kernel="rbf", gamma="auto", loss=None, C=None, budget=500, maintenance="merge", half_life="auto", n_cols=32, seed=0
)
"""Options that nobody gives: those of the model that a stream goes on from stay."""

LARGEST_TARGET = 1e150
"""Numbers up to this have squares."""


class StreamRun:
    """The machine, how far it has come, and how it did."""

    model: Path | None
    interval: float
    ignored: set[str]
    skip_broken: bool

    def __init__(self, given: dict[str, Any], task: str | None, target: str, seed: int) -> None:
        self.given, self.task, self.target, self.seed = given, task, target, seed
        self.machine: Any = None
        self.settings: dict[str, Any] = {}
        self.scores: Scores | None = None
        self.log: PredictionLog | None = None
        self.lines = self.to_skip = self.broken = 0
        self.logged: int | None = None
        self.first_broken = ""
        self.earlier: Path | None = None
        self.written = time.monotonic()
        self.has_file = self.ended = False

    @staticmethod
    def of(
        given: dict[str, Any], task: str | None, target: str, seed: int, earlier: Path | None, goes_on: bool
    ) -> StreamRun:
        """Return a new run, or one that goes on from a model: on the same stream, or on another."""
        run = StreamRun(given, task, target, seed)
        if earlier is not None:
            from dsekl.online import stream_file
            from dsekl.persistence import checking

            run.earlier, run.has_file = earlier, goes_on
            run.machine, run.settings, progress = stream_file.read(earlier)
            run.task = "classification" if run.settings["classes"] else "regression"
            if progress.get("target") != target or (task is not None and task != run.task):
                told = f"{progress.get('target')!r:.80} --task {run.task}"
                raise UsageError(f"{earlier}: was learned for --target {told}")
            run._refuse_other_settings(earlier)
            run.scores = Scores.new(run.task)
            if goes_on:
                with checking(earlier):
                    run.scores = Scores.of(run.task, progress.get("scores"))
                    run.to_skip, run.broken = count_of(progress, "lines"), count_of(progress, "broken")
                    run.logged = None if progress.get("predictions") is None else count_of(progress, "predictions")
        return run

    def _refuse_other_settings(self, earlier: Path) -> None:
        """Raise an error for an option that is given, and is not that of the model."""
        theirs = {**self.settings, "seed": self.machine.seed}
        for name, value in {**self.given, "seed": self.seed}.items():
            if value not in (DEFAULTS[name], theirs[name]):
                option = f"--{name.replace('_', '-')}"
                was = "never" if theirs[name] is None else theirs[name]
                raise UsageError(f"{earlier}: was begun with {option} {was}; leave {option} out, or begin a new model")

    @contextmanager
    def logging(self, output: Path | None) -> Iterator[None]:
        """Write predictions to a csv file within the block; it is left unfinished where the run can be gone on with."""
        if output is None:
            yield
            return
        goes_on = self.to_skip > 0
        if goes_on and self.logged is None:
            raise UsageError(
                f"--output {output}: the stream that --resume goes on with was without it; leave it out, or begin anew"
            )
        with naming(str(output)):
            self.log = PredictionLog(output, self.logged if goes_on else None)
            try:
                yield
            except BaseException:
                if not self.ended:
                    self.log.close(keep=self.has_file)
                raise

    def take(self, row: StreamedRow) -> None:
        """Predict a row, and learn from it; rows that the model has learned from already are passed over."""
        self.lines += 1
        if self.lines <= self.to_skip:
            return
        error = row.error or self._learned(row)
        if error is not None:
            if not self.skip_broken:
                raise error
            self.broken += 1
            self.first_broken = self.first_broken or str(error)
        if self.scores is not None and time.monotonic() - self.written >= self.interval:
            try:
                self.write()
            except OSError as error:
                warnings.warn(
                    f"{self.model} could not be written ({error}); the one before it is kept, and the stream goes on. "
                    "Make room on the disk.",
                    UserWarning,
                    stacklevel=2,
                )

    def _learned(self, row: StreamedRow) -> DataFileError | None:
        """Learn from a row; return what is wrong with it, in which case nothing was learned."""
        if self.target not in row.values:
            return DataFileError(row.where, no_column(self.target, list(row.values)))
        y = row.values[self.target]
        if y is None or row.written is None:
            return DataFileError(row.where, "the target is missing", self.target)
        if self.machine is None:
            self._begin(row, y)
        if self.task == "regression" and not (isinstance(y, float) and abs(y) < LARGEST_TARGET):
            return DataFileError(row.where, f"{y!r:.80} is no number to predict", self.target)
        label = y if self.task == "regression" else label_of(row.written)
        x = {name: value for name, value in row.values.items() if name not in self.ignored}
        assert self.scores is not None
        try:
            predicted = self._predicted(x)
            self.machine.learn(x, label)
        except ValueError as error:
            return DataFileError(row.where, f"{error}{self._or_the_file()}")
        self.scores.add(label, predicted)
        if self.log is not None:
            self.log.add(row.where, predicted, label)
        return None

    def _or_the_file(self) -> str:
        """Return what else may be at fault with a row that cannot be learned from."""
        return "" if self.earlier is None else f" (or {self.earlier}, which the stream goes on from, is not as written)"

    @contextmanager
    def _blaming_the_file(self) -> Iterator[None]:
        """Name the file that the stream goes on from with what cannot be computed."""
        try:
            yield
        except ValueError as error:
            raise UsageError(f"{error}{self._or_the_file()}") from error

    def _predicted(self, x: Mapping[str, Any]) -> Any:
        if self.task == "regression":
            f = self.machine.evaluate([x])
            if f is not None and not math.isfinite(f[0, 0]):
                raise ValueError("its prediction is no finite number: the numbers of this row, or of those before, are "
                                 "too large to be computed with")  # fmt: skip
            return 0.0 if f is None else float(f[0, 0])
        found = self.machine.probabilities([x])
        return None if found is None else list(self.machine.codes)[int(found[0].argmax())]

    def _begin(self, row: StreamedRow, y: object) -> None:
        from dsekl.online import stream_file
        from dsekl.online.dicts import DictMachine

        if self.task is None and isinstance(y, float):
            raise UsageError(f"--task: {row.where} has {y!r} as its target; give --task classification or regression")
        self.task = str(self.task or "classification")
        loss = self.given["loss"] or LOSSES[self.task][0]
        o.check_loss(loss, self.task, LOSSES[self.task])
        C = DEFAULT_C[self.task] if self.given["C"] is None else self.given["C"]
        self.settings = {**self.given, "loss": loss, "C": C, "classes": self.task == "classification"}
        self.machine = DictMachine(stream_file.settings_of(self.settings), self.seed)
        self.scores = Scores.new(self.task)

    def write(self) -> None:
        """Write the model, where it is wanted, and how far it has come."""
        from dsekl.online import stream_file

        assert self.scores is not None
        self.written = time.monotonic()
        if self.model is None:
            return
        progress = {
            "target": self.target, "lines": max(self.lines, self.to_skip), "broken": self.broken,
            "scores": self.scores.to_dict(), "predictions": None if self.log is None else self.log.flushed(),
        }  # fmt: skip
        with naming(str(self.model)), self._blaming_the_file():
            stream_file.write(self.model, self.machine, self.settings, progress)
        self.has_file = True

    def end(self) -> None:
        """Write what there is at the end of the stream."""
        self.write()
        if self.log is not None:
            self.log.finish()
        self.ended = True

    def stop(self) -> bool:
        """Write what there is when the stream is stopped; tell whether it can be gone on with."""
        if self.scores is not None and not self.ended:
            self.write()
        return self.has_file

    def figures(self) -> dict[str, Any]:
        """Return what the machine has come to."""
        learner = self.machine.learner
        with self._blaming_the_file():  # rows that waited are learned from
            points = 0 if learner is None else learner.n_points
        return {"features": len(self.machine.slots), "points": points, "broken lines": self.broken}
