"""``dsekl stream``: learn from rows one at a time, and tell how well each was predicted before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from dsekl.data.errors import DataFileError
from dsekl.data.streamed import STANDARD_INPUT, StreamedRow, opened_stream, streamed_rows

from . import options as o
from .console import Output, UsageError, pairs
from .signals import INTERRUPTED, BetweenRows
from .stream_run import LOSSES, StreamRun

WAYS = ("merge", "absorb", "project", "random", "oldest")
KERNELS = tuple(name for name in o.KERNELS if name not in ("auto", "precomputed"))
"""Written here as well as in the library, so that ``--help`` need not import it; a test compares them."""

Source = Annotated[
    Path, typer.Argument(help="csv with a header, or JSON lines (also gz, bz2, xz); - reads standard input.")
]
Budget = Annotated[
    int, typer.Option(metavar="<int>", min=1, max=10_000_000, help="Points that are kept.", rich_help_panel=o.MODEL)
]
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
StreamLoss = Annotated[str | None, typer.Option("--loss", help=o.help_of_losses(LOSSES), rich_help_panel=o.MODEL)]
NCols = Annotated[
    int,
    typer.Option(metavar="<int>", min=0, max=4096, help="Random points that take a step with each row.",
                 rich_help_panel=o.RUN),
]  # fmt: skip
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
    """Learn from a stream of rows, one at a time.

    Each row is predicted before the model learns from it, and memory does not grow with the number of rows.

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
    run = StreamRun.of(given, task, target, seed, model if goes_on else start, goes_on)
    run.model, run.interval, run.ignored = model, checkpoint_interval, {target, *(ignore or [])}
    run.skip_broken = skip_broken
    whole = BetweenRows()
    with whole.installed(), run.logging(output):
        try:
            with opened_stream(data) as source:
                rows = streamed_rows(data, source, target, delimiter)
                for row in printer.progress("stream")(_counted(rows), None):
                    with whole.holding():
                        run.take(row.row)
            with whole.holding():
                if run.scores is None:
                    raise DataFileError(data, "has no rows to learn from")
                run.end()
        except KeyboardInterrupt:
            if run.stop():
                printer.note(f"stopped; {model} holds the current model; go on with the same command and --resume")
            raise typer.Exit(INTERRUPTED) from None
    if run.broken:
        printer.note(f"{run.broken:,} broken lines were left out; the first: {run.first_broken}")
    figures = {**run.scores.figures(), **run.figures(), **({} if model is None else {"model": str(model)})}
    told = {**figures, "broken lines": run.broken or None}  # none is no news
    printer.result(figures, pairs("Stream", told))


class _Counted:
    """A row for the progress bar."""

    n_rows = 1

    def __init__(self, row: StreamedRow) -> None:
        self.row = row


def _counted(rows: Iterator[StreamedRow]) -> Any:
    return (_Counted(row) for row in rows)


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
