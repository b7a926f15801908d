"""What a search before the first epoch has found so far, kept in the run so that a checkpoint has it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from dsekl.persistence import checking

from .fields import from_values, to_values
from .run import FIX


class Kept(Protocol):
    """A dataclass of numbers and arrays that can be checked."""

    def check(self) -> None:
        """Raise ValueError where fields that are right by themselves do not fit each other."""


KeptThing = TypeVar("KeptThing", bound=Kept)


@dataclass(frozen=True)
class Stages:
    """Named findings as plain values; those of a file are checked when they are asked for."""

    values: dict[str, Any]
    path: Path | None
    keep_if_due: Callable[[], None]

    def take(self, name: str, kind: type[KeptThing], sizes: Mapping[str, int]) -> KeptThing | None:
        """Return what was kept under a name, None for nothing; ModelFileError names what cannot be."""
        if name not in self.values:
            return None
        with checking(self.path or Path("the run"), FIX):
            thing = from_values(kind, self.values[name], sizes, f"the stage {name!r}")
            try:
                thing.check()
            except ValueError as error:
                raise ValueError(f"the stage {name!r}: {error}") from error
        return thing

    def put(self, name: str, thing: Kept) -> None:
        """Keep something, and write it if a checkpoint is due."""
        self.values[name] = to_values(thing)
        self.keep_if_due()
