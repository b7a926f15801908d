"""Tasks of lazy collections, by names that the dashboard shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

from dask._task_spec import List, Task, TaskRef
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph
from dask.optimization import cull
from dask.utils import ensure_dict

MOST_SHARED = 8
"""Tasks that blocks may have in all, over those that there are: of a shuffle all blocks have all tasks."""


def lazily(name: str, task: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls a task lazily; what it returns is a delayed value."""

    def call(*arguments: Any) -> Any:
        return called(f"dsekl-{name}-{uuid4().hex}", task, *arguments)

    return call


def called(key: str, task: Callable[..., Any], *arguments: Any) -> Delayed:
    """Return what a task makes of values, delayed ones among them and in lists, as a delayed value with this key.

    dask.delayed takes milliseconds for it, which are minutes where blocks are many.
    """
    needed: list[Delayed] = []

    def noted(value: Any) -> Any:
        if isinstance(value, Delayed):
            needed.append(value)
            return TaskRef(value.key)
        return List(*map(noted, value)) if isinstance(value, list) else value

    made = Task(key, task, *map(noted, arguments))
    return Delayed(key, HighLevelGraph.from_collections(key, {key: made}, dependencies=needed))


def apart(blocks: Sequence[Any]) -> list[Any]:
    """Return delayed values each of which knows its own tasks alone, as long as these are few.

    Whatever is made of a delayed value looks at all tasks that it knows: of ten thousand blocks, those of all of them.
    """
    if len(blocks) < 2 or any(block.dask is not blocks[0].dask for block in blocks):
        return list(blocks)
    graph, found, n_tasks = ensure_dict(blocks[0].dask), [], 0
    if any(block.key not in graph for block in blocks):  # persisted ones are on the workers already
        return list(blocks)
    for block in blocks:
        tasks, _ = cull(graph, [block.key])
        n_tasks += len(tasks)
        if n_tasks > MOST_SHARED * len(graph):
            return list(blocks)
        found.append(Delayed(block.key, HighLevelGraph.from_collections(block.key, tasks), layer=block.key))
    return found
