"""``dsekl stream``: learn from rows one at a time, and tell how well each was predicted before."""

from __future__ import annotations

import csv
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from dsekl.atomic import replacing_text
from dsekl.data.errors import DataFileError
from dsekl.data.streamed import STANDARD_INPUT, StreamedRow, opened_stream, streamed_rows

from . import options as o
from .console import Output, UsageError, pairs
from .progressive import Scores, number_of
from .signals import INTERRUPTED
from .streams import naming

WAYS = ("merge", "absorb", "project", "random", "oldest")
KERNELS = tuple(name for name in o.KERNELS if name not in ("auto", "precomputed"))
LOSSES = {"classification": ("hinge", "squared_hinge", "logistic", "squared"), "regression": o.LOSSES["regression"]}
"""Written here as well as in the library, so that ``--help`` need not import it; a test compares them."""

DEFAULT_C: dict[str, float | str] = {"classification": "auto", "regression": 10.0}

Source = Annotated[
    Path, typer.Argument(help="csv with a header, or JSON lines (also gz, bz2, xz); - reads standard input.")
]
Budget = Annotated[int, typer.Option(min=1, max=10_000_000, help="Points that are kept.", rich_help_panel=o.MODEL)]
Maintenance = Annotated[str, typer.Option(help=f"Over the budget: {', '.join(WAYS)}.", rich_help_panel=o.MODEL)]
HalfLife = Annotated[
    str, typer.Option(help="Rows after which what was learned counts half; auto, or never.", rich_help_panel=o.MODEL)
]
StreamKernel = Annotated[str, typer.Option("--kernel", help=f"{', '.join(KERNELS)}.", rich_help_panel=o.MODEL)]
StreamGamma = Annotated[str, typer.Option("--gamma", help="auto, scale, or a number.", rich_help_panel=o.MODEL)]
StreamC = Annotated[
    str | None, typer.Option("--C", "-C", help="Weight of the loss, or auto. Default: auto, or 10 for regression.",
                               rich_help_panel=o.MODEL),
]  # fmt: skip
StreamLoss = Annotated[
    str | None, typer.Option("--loss", help="As in fit. Default: hinge, or squared.", rich_help_panel=o.MODEL)
]
NCols = Annotated[int, typer.Option(min=0, help="Random points that take a step with each row.",
                                    rich_help_panel=o.RUN)]  # fmt: skip
Start = Annotated[
    Path | None, typer.Option("--from", help="A model written by stream, to go on from.", rich_help_panel=o.RUN)
]
SkipBroken = Annotated[
    bool, typer.Option("--skip-broken", help="Leave broken lines out, and count them.", rich_help_panel=o.TABLE)
]
Predictions = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="csv of what each row was predicted to be.", rich_help_panel=o.OUTPUT),
]
Resume = Annotated[
    bool,
    typer.Option("--resume", help="Go on from --model, behind the rows of this stream that it has learned from.",
                 rich_help_panel=o.RUN),
]  # fmt: skip


StreamModel = Annotated[
    Path | None,
    typer.Option("--model", "-m", help="The model file to write. Default: none, scores alone.",
                 rich_help_panel=o.MODEL),
]  # fmt: skip


def stream(
    data: Source,
    target: Annotated[str, typer.Option("--target", "-t", help="The column to predict.", rich_help_panel=o.TABLE)],
    model: StreamModel = None,
    task: o.TaskOption = None,
    ignore: o.Ignore = None,
    delimiter: Annotated[str, typer.Option(help="csv: one character.", rich_help_panel=o.TABLE)] = ",",
    skip_broken: SkipBroken = False,
    kernel: StreamKernel = "rbf",
    gamma: StreamGamma = "auto",
    C: StreamC = None,
    loss: StreamLoss = None,
    budget: Budget = 500,
    maintenance: Maintenance = "merge",
    half_life: HalfLife = "auto",
    n_cols: NCols = 32,
    seed: o.Seed = 0,
    start: Start = None,
    checkpoint_interval: o.CheckpointInterval = 60.0,
    resume: Resume = False,
    output: Predictions = None,
    force: o.Force = False,
    as_json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Learn from a stream of rows, each predicted before it is learned from; memory does not grow with the rows.

    The model is also the checkpoint: it is written every so often, at the end, and when the command is stopped.
    """
    printer = Output(as_json, quiet)
    _check(data, model, start, output, resume, force, delimiter)
    given = dict(
        kernel=kernel, gamma=o.number_or_rule("--gamma", gamma, ("auto", "scale")), loss=loss,
        C=None if C is None else o.number_or_rule("--C", C, ("auto",)), budget=budget,
        maintenance=maintenance, half_life=_half_life(half_life), n_cols=n_cols,
    )  # fmt: skip
    o.check_choice("--kernel", kernel, KERNELS)
    o.check_choice("--maintenance", maintenance, WAYS)
    goes_on = resume and model is not None and model.exists()
    run = _Run.of(given, task, target, seed, model if goes_on else start, goes_on)
    run.model, run.interval, run.ignored = model, checkpoint_interval, {target, *(ignore or [])}
    run.skip_broken = skip_broken
    try:
        with ExitStack() as stack:
            writer = stack.enter_context(_predictions(output))
            rows = streamed_rows(data, stack.enter_context(opened_stream(data)), delimiter)
            for row in printer.progress("stream")(_counted(rows), None):
                run.take(row.row, writer)
    except KeyboardInterrupt:
        if run.scores is not None:
            run.write()
        if model is not None:
            printer.note(f"stopped; {model} holds the current model; go on with the same command and --resume")
        raise typer.Exit(INTERRUPTED) from None
    if run.scores is None:
        raise DataFileError(data, "has no rows to learn from")
    run.write()
    if run.broken:
        printer.note(f"{run.broken:,} broken lines were left out; the first: {run.first_broken}")
    figures = {**run.scores.figures(), **run.figures(), **({} if model is None else {"model": str(model)})}
    printer.result(figures, pairs("Stream", figures))


class _Counted:
    """A row for the progress bar."""

    n_rows = 1

    def __init__(self, row: StreamedRow) -> None:
        self.row = row


def _counted(rows: Iterator[StreamedRow]) -> Any:
    return (_Counted(row) for row in rows)


class _Run:
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
        self.lines = self.to_skip = self.broken = 0
        self.first_broken = ""
        self.written = time.monotonic()

    @staticmethod
    def of(
        given: dict[str, Any], task: str | None, target: str, seed: int, earlier: Path | None, goes_on: bool
    ) -> _Run:
        """Return a new run, or one that goes on from a model: on the same stream, or on another."""
        run = _Run(given, task, target, seed)
        if earlier is not None:
            from dsekl.online import stream_file

            run.machine, run.settings, progress = stream_file.read(earlier)
            run.task = "classification" if run.settings["classes"] else "regression"
            if progress.get("target") != target or (task is not None and task != run.task):
                raise UsageError(f"{earlier}: was learned for --target {progress.get('target')} --task {run.task}")
            run.scores = Scores.new(run.task)
            if goes_on:
                run.scores = Scores.of(run.task, progress.get("scores"))
                run.to_skip, run.broken = number_of(progress, "lines"), number_of(progress, "broken")
        return run

    def take(self, row: StreamedRow, writer: Any) -> None:
        """Predict a row, and learn from it; rows that the model has learned from already are passed over."""
        self.lines += 1
        if self.lines <= self.to_skip:
            return
        error = row.error or self._learned(row, writer)
        if error is not None:
            if not self.skip_broken:
                raise error
            self.broken += 1
            self.first_broken = self.first_broken or str(error)
        if self.scores is not None and time.monotonic() - self.written >= self.interval:
            self.write()

    def _learned(self, row: StreamedRow, writer: Any) -> DataFileError | None:
        """Learn from a row; return what is wrong with it, in which case nothing was learned."""
        y = row.values.get(self.target)
        if y is None:
            return DataFileError(row.where, "the target is missing", self.target)
        if self.machine is None:
            self._begin(row, y)
        if self.task == "regression" and not (isinstance(y, float) and abs(y) < 1e150):
            return DataFileError(row.where, f"{y!r:.80} is no number to predict", self.target)
        label = y if self.task == "regression" else _label(y)
        x = {name: value for name, value in row.values.items() if name not in self.ignored}
        assert self.scores is not None
        try:
            predicted = self._predicted(x)
            self.machine.learn(x, label)
        except ValueError as error:
            return DataFileError(row.where, str(error))
        self.scores.add(label, predicted)
        writer(row.where, predicted, label)
        return None

    def _predicted(self, x: Mapping[str, Any]) -> Any:
        if self.task == "regression":
            f = self.machine.evaluate([x])
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
        o.check_choice("--loss", loss, LOSSES[self.task])
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
            "scores": self.scores.to_dict(),
        }  # fmt: skip
        with naming(str(self.model)):
            stream_file.write(self.model, self.machine, self.settings, progress)

    def figures(self) -> dict[str, Any]:
        """Return what the machine has come to."""
        learner = self.machine.learner
        points = 0 if learner is None else learner.n_points
        return {"features": len(self.machine.slots), "points": points, "broken lines": self.broken}


def _check(
    data: Path, model: Path | None, start: Path | None, output: Path | None, resume: bool, force: bool, delimiter: str
) -> None:
    """Raise an error if a file cannot be written, or would be overwritten."""
    if resume and start is not None:
        raise UsageError("--resume goes on from --model; leave out --from")
    if resume and model is None:
        raise UsageError("--resume goes on from --model; give --model")
    if len(delimiter) != 1:
        raise UsageError(f"--delimiter {delimiter!r}: give one character")
    source = None if str(data) == STANDARD_INPUT else data
    if model is not None:
        o.check_writable("--model", model, force or resume or (start is not None and start == model), inputs=(source,))
    if output is not None:
        o.check_writable("--output", output, force=True, inputs=(source, model, start))


def _half_life(given: str) -> float | str | None:
    if given == "never":
        return None
    value = o.number_or_rule("--half-life", given, ("auto", "never"))
    if not isinstance(value, str) and value < 1:
        raise UsageError(f"--half-life {given}: give auto, never, or a number of rows from 1 on")
    return value


def _label(y: object) -> str:
    """Return a class as a text; whole numbers without a decimal point."""
    return str(int(y)) if isinstance(y, float) and y.is_integer() else str(y)


@contextmanager
def _predictions(output: Path | None) -> Iterator[Any]:
    """Yield what writes a prediction to the csv file that was asked for, or nowhere."""
    if output is None:
        yield lambda *_: None
        return
    with naming(str(output)), replacing_text(output) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["place", "prediction", "target"])
        yield lambda *fields: writer.writerow(["" if field is None else field for field in fields])
