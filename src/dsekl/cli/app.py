"""The command ``dsekl``: its subcommands, error messages and exit codes.

Exit codes: 0 success; 1 the run failed; 2 an option or a file is wrong; 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated, NoReturn

import typer

import dsekl
from dsekl.data.errors import DataFileError

from . import options as o
from .console import print_error
from .convert import convert
from .demo import demo
from .evaluate import evaluate
from .fit import fit
from .info import info
from .predict import predict
from .tune import tune

FAILED, WRONG = 1, 2

SUMMARY = "Exact kernel SVMs and kernel ridge regression on large tables, with learned feature weights."

app = typer.Typer(
    name="dsekl",
    help=SUMMARY,
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
def show_version(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit code."""
    try:
        app(arguments)
    except BrokenPipeError:
        # The reader of our output has gone. Python flushes standard output once more at exit: send that nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILED)
    except DataFileError as error:
        print_error(error.message.with_names(o.OPTION_OF))
        sys.exit(WRONG)
    except ValueError as error:
        print_error(error)
        sys.exit(WRONG)
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        print_error(f"{error.filename}: {error.strerror}")
        sys.exit(WRONG)
    except (OSError, MemoryError, ArithmeticError) as error:
        print_error(error if str(error) else type(error).__name__)
        sys.exit(FAILED)
    sys.exit(0)
