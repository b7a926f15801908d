"""The command ``dsekl``: what all its commands share."""

from __future__ import annotations

from typing import Annotated

import typer

import dsekl

app = typer.Typer(
    name="dsekl",
    help="Kernel machines that keep every training point in the model.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)


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


def main() -> None:
    """Run the command line."""
    app()
