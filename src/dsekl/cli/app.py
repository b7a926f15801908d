"""The command ``dsekl``: its commands, and what becomes of errors.

Exit codes: 0 all is well; 1 the run failed; 2 the request or a file is wrong; 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated, NoReturn

import typer

import dsekl

from .console import complain
from .convert import convert
from .demo import demo
from .evaluate import evaluate
from .fit import fit
from .info import info
from .predict import predict
from .tune import tune

FAILED, WRONG = 1, 2

app = typer.Typer(
    name="dsekl",
    help="Kernel machines that keep every training point in the model.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
for command in (fit, predict, evaluate, tune, info, convert, demo):
    app.command()(command)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dsekl {dsekl.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Kernel machines that keep every training point in the model."""


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit code."""
    try:
        app(arguments)
    except BrokenPipeError:
        # Whoever read our output has gone. Python flushes standard output once more at its end; into nothing, then.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILED)
    except ValueError as error:
        complain(error)
        sys.exit(WRONG)
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        complain(f"{error.filename}: {error.strerror}")
        sys.exit(WRONG)
    except (OSError, MemoryError, ArithmeticError) as error:
        complain(error if str(error) else type(error).__name__)
        sys.exit(FAILED)
    sys.exit(0)
