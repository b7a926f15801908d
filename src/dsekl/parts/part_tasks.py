"""Tasks for all parts: the same function of each, run wherever the executor runs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

from .build import Parts
from .executor import Executor
from .part import Part, Region


@dataclass
class PartTasks:
    """Parts, and the executor that runs their tasks."""

    executor: Executor
    parts: Parts

    def submit(self, name: str, task: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Submit a task for each part; lists that have one thing for each part are dealt out."""
        n = len(self.parts)
        dealt = [given if isinstance(given, list) else [given] * n for given in arguments]
        return [self.executor.submit(f"{name}-{p}", task, *of) for p, of in enumerate(zip(*dealt, strict=True))]

    def gather(self, name: str, task: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Run a task for each part, and bring the results here."""
        return self.executor.gather(self.submit(name, task, *arguments))

    def spread(self, loads: Sequence[float]) -> None:
        """Let parts be where all workers have about as much to do."""
        self.parts.parts[:] = self.executor.spread(self.parts.parts, loads)

    def summed(self, results: Sequence[Any]) -> Any:
        """Submit the sum of what tasks give, in the order of the parts, for further tasks."""
        return self.executor.submit("sum", total, list(results))

    def terms(self, task: Callable[..., Any], states: Sequence[Any]) -> list[list[Any]]:
        """Return for each part what the terms of every part add to the predictions of its rows, by a task."""
        parts = self.parts.parts
        return [
            [self.executor.submit(f"terms-{q}-{p}", task, part, states[q], region) for q, part in enumerate(parts)]
            for p, region in enumerate(self.submit("region", region_of, parts))
        ]


def total(values: Sequence[Any]) -> Any:
    """Add up in the order that values have."""
    return reduce(add, values)


def region_of(part: Part) -> Region:
    """Return the region of a part."""
    return part.region
