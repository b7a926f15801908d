"""How much memory values take, which a scheduler asks before it moves them or puts them on disk."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


class CountsMemory:
    """A dataclass whose size counts the arrays that it holds."""

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + n_bytes(self)


def n_bytes(value: Any) -> int:
    """Return the bytes of all arrays in a value."""
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if isinstance(value, list | tuple):
        return sum(map(n_bytes, value))
    if isinstance(value, dict):
        return sum(map(n_bytes, value.values()))
    if is_dataclass(value) and not isinstance(value, type):
        return sum(n_bytes(getattr(value, field.name)) for field in fields(value))
    return 0
