"""Values of a saved recipe, checked one by one: a file may hold anything where ``to_dict`` wrote something else.

Each function returns the value, or raises a ValueError that names its place in the file.
"""

from __future__ import annotations

import math
from collections.abc import Set
from typing import Any

from .field_values import LARGEST


def entries(value: object, place: str, names: Set[str], optional: Set[str] = frozenset()) -> dict[str, Any]:
    """Return an object that has just these names, and perhaps some of the ``optional``."""
    if not isinstance(value, dict):
        raise ValueError(f"{place} is no object")
    if value.keys() - optional != names:
        raise ValueError(f"{place} has other names than {', '.join(sorted(names))}")
    return value


def items(value: object, place: str) -> list[Any]:
    """Return a list."""
    if not isinstance(value, list):
        raise ValueError(f"{place} is no list")
    return value


def text(value: object, place: str) -> str:
    """Return a text."""
    if not isinstance(value, str):
        raise ValueError(f"{place} is no text")
    return value


def texts(value: object, place: str, fewest: int = 0) -> list[str]:
    """Return a list of texts, no two of them equal."""
    found = [text(item, place) for item in items(value, place)]
    if len(found) < fewest:
        raise ValueError(f"{place} has {len(found)} entries, fewer than {fewest}")
    if len(set(found)) < len(found):
        raise ValueError(f"{place} has an entry twice")
    return found


def flag(value: object, place: str) -> bool:
    """Return True or False."""
    if not isinstance(value, bool):
        raise ValueError(f"{place} is neither true nor false")
    return value


def integer(value: object, place: str, least: int, most: int) -> int:
    """Return an integer of a range."""
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{place} is no integer from {least:,} to {most:,}")
    return value


def number(value: object, place: str, positive: bool = False, most: float = LARGEST) -> float:
    """Return a number that is no further from 0 than ``most``; a positive one if need be."""
    if type(value) not in (int, float) or not isinstance(value, int | float):
        raise ValueError(f"{place} is no number")
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if not abs(found) <= most or (positive and found <= 0):
        raise ValueError(f"{place} is no {'positive ' if positive else ''}number up to {most:g}")
    return found
