"""The command ``dsekl``: its subcommands, error messages and exit codes.

Exit codes: 0 success; 1 the run failed; 2 an option or a file is wrong; 130 stopped by Ctrl-C (143 by SIGTERM, 129 by
the end of the terminal).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, NoReturn

import typer

import dsekl
from dsekl.data.errors import DataFileError

from . import options as o
from .console import Output, print_error
from .convert import convert
from .demo import demo
from .evaluate import evaluate
from .fit import fit
from .info import info
from .plain_help import Command, Group
from .predict import predict
from .reproduce import reproduce
from .signals import INTERRUPTED, Request, heeded
from .stream import stream
from .streams import discard, flush_output
from .tune import tune

FAILED, WRONG = 1, 2

SUMMARY = "Exact kernel SVMs and kernel ridge regression on large tables, with learned feature weights."

app = typer.Typer(
    name="dsekl",
    cls=Group,
    help=SUMMARY,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _command(function: Callable[..., None]) -> Callable[..., None]:
    """Return a command that prints warnings as notes, and one word when it is stopped."""

    @wraps(function)
    def command(**options: Any) -> None:
        output = Output(quiet=bool(options.get("quiet")))
        try:
            with output.warnings_as_notes():
                function(**options)
        except KeyboardInterrupt:
            output.note("stopped")
            raise typer.Exit(INTERRUPTED) from None

    return command


for function in (fit, predict, evaluate, tune, stream, info, convert, demo, reproduce):
    app.command(cls=Command)(_command(function))


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
    request = Request()
    if not (sys.stdout and sys.stdout.isatty() and sys.stderr and sys.stderr.isatty()):
        app.rich_markup_mode = None  # no boxes in a pipe
    try:
        with heeded(request):
            code = _run(lambda: app(arguments)) or _run(flush_output)
    except KeyboardInterrupt:  # between two steps
        code = INTERRUPTED
    sys.exit(request.exit_code(code))


def _run(step: Callable[[], None]) -> int:
    """Take a step, print its error in one line, and return the exit code."""
    try:
        step()
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else 0
    except KeyboardInterrupt:  # before the command has begun, or after its end
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output has gone, as in "dsekl ... | head"
        discard(sys.stdout)
        return FAILED
    except DataFileError as error:
        print_error(error.message.with_names(o.OPTION_OF))
        return WRONG
    except ValueError as error:
        print_error(error)
        return WRONG
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        print_error(_told(error))
        return WRONG
    except (OSError, MemoryError, ArithmeticError, ImportError) as error:
        print_error(_told(error))
        return FAILED
    return 0


def _told(error: Exception) -> str:
    """Return the words of an error: with the file's name first where there is one, never empty."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__
