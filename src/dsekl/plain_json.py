"""Untrusted JSON: a text becomes texts, finite numbers, lists and objects, or one ``ValueError`` says why not.

Python's own reader takes NaN, lets the last of two equal names win, and ends in ``RecursionError`` on a deep nest.
"""

from __future__ import annotations

import json
import math
from typing import IO, Any

MOST_BYTES = 2**24
"""Of a file: far more than any of ours has. What Python makes of a text takes up to thirty times its size."""


def parse(text: str | bytes) -> Any:
    """Return what a text holds."""
    try:
        return json.loads(text, parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_without_repeats)
    except RecursionError:
        raise ValueError("its lists are nested too deep") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8: {error.reason} at byte {error.start}") from None


def read(file: IO[bytes]) -> Any:
    """Return what the rest of a file holds, at most ``MOST_BYTES``."""
    content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"it is larger than {MOST_BYTES:,} bytes")
    return parse(content)


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no number of JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits} is larger than any number")
    return number


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice in one object")
    return found
