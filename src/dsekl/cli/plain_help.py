"""Help and usage errors for people: flags without a type, arguments in capitals, and the nearest choice."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup


def _without_types_of_flags(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters


def _with_nearest_choice(words: str) -> str:
    """Return the words of a usage error, and the choice that was probably meant: "'a' is not one of 'b', 'c'"."""
    words = words.removeprefix("Value error, ")
    found = re.match(r"'(?P<given>[^']*)' is not one of (?P<choices>'.*')\.?$", words)
    if found is None:
        return words
    near = get_close_matches(found["given"], re.findall(r"'([^']*)'", found["choices"]), n=1)
    return words + "".join(f" Did you mean {choice!r}?" for choice in near)


class Command(TyperCommand):
    """A command with such a help."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            error.message = _with_nearest_choice(error.message)
            raise

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_types_of_flags(super().get_params(ctx))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        pieces = super().collect_usage_pieces(ctx)
        return [piece.strip("{}").upper() if piece.startswith("{") else piece for piece in pieces]


class Group(TyperGroup):
    """A group of commands with such a help."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_types_of_flags(super().get_params(ctx))
