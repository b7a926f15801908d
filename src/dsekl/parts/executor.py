"""What runs the tasks of a fit in parts: this process, or workers elsewhere.

A task is a plain function of values that are never changed. What ``submit`` returns stands for its result, and may be
an argument of further tasks, also in a list; ``gather`` brings results here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol


class Executor(Protocol):
    """Runs tasks."""

    def submit(self, name: str, task: Callable[..., Any], *arguments: Any) -> Any:
        """Return what stands for ``task(*arguments)``; a dashboard shows the name."""

    def gather(self, results: Sequence[Any]) -> list[Any]:
        """Return the results themselves, in the order in which they are asked for."""

    def spread(self, parts: Sequence[Any], loads: Sequence[float]) -> list[Any]:
        """Return the same parts, placed so that all workers have about as much to do."""


class SerialExecutor:
    """This process: each task is run when it is submitted."""

    def submit(self, name: str, task: Callable[..., Any], *arguments: Any) -> Any:
        return task(*arguments)

    def gather(self, results: Sequence[Any]) -> list[Any]:
        return list(results)

    def spread(self, parts: Sequence[Any], loads: Sequence[float]) -> list[Any]:
        return list(parts)
