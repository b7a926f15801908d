"""Tasks of lazy collections, by names that the dashboard shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import dask


def lazily(name: str, task: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls a task lazily; what it returns is a delayed value."""
    delayed = dask.delayed(task, pure=False)

    def call(*arguments: Any) -> Any:
        return delayed(*arguments, dask_key_name=f"dsekl-{name}-{uuid4().hex}")

    return call
