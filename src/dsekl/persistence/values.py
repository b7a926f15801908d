"""Python values as JSON and arrays, and back.

Numbers, texts, None and lists are themselves. All else is a JSON object with one of these names: ``dict`` (pairs, so
that keys may be numbers), ``tuple``, ``float`` (the three that JSON lacks), ``array`` (its name among the arrays),
``strings`` (an array of texts), ``random`` (a RandomState) and ``object`` (settings of a class from a closed list that
the caller gives). Nothing in a file can name anything to import or to call.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]
Classes = Mapping[str, Any]

MOST_PADDED = 2**20
"""Characters up to which an array of texts is made as wide as it was."""

MOST_PADDING = 64
"""Times its own characters that a larger array of texts may take."""

MERSENNE_WORDS = 624
"""Numbers that the Mersenne twister's state has; its position is among them."""

NOT_IN_JSON = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def encode(value: Any, name: str, arrays: Arrays, classes: Classes) -> Any:
    """Return ``value`` as JSON; its arrays go to ``arrays``, under names that start with ``name``."""

    def inner(part: object, suffix: object) -> Any:
        return encode(part, f"{name}.{suffix}", arrays, classes)

    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, list | tuple):
        parts = [inner(part, k) for k, part in enumerate(value)]
        return parts if isinstance(value, list) else {"tuple": parts}
    if isinstance(value, Mapping):
        return {"dict": [[inner(key, "key"), inner(part, key)] for key, part in value.items()]}
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "biuf":
            arrays[name] = value
            return {"array": name}
        if value.dtype.kind in "UO" and all(isinstance(text, str) for text in value.flat):
            return {"strings": value.tolist(), "dtype": "object" if value.dtype.kind == "O" else value.dtype.str}
    if isinstance(value, np.random.RandomState):
        return {"random": inner(value.get_state(legacy=False), "state")}
    if classes.get(type(value).__name__) is type(value):
        settings = {key: inner(part, key) for key, part in value.get_params(deep=False).items()}
        return {"object": type(value).__name__, "settings": settings}
    raise ValueError(
        f"{name.partition('.')[2] or name}={value!r} cannot be saved: a file holds numbers, texts, arrays and dsekl's "
        "own settings, and nothing that could run. Set it to one of these, or use joblib.dump and load only files that "
        "you trust."
    )


def decode(node: object, arrays: Arrays, classes: Classes) -> Any:
    """Return the value that ``encode`` made ``node`` from; ValueError, KeyError or TypeError if it never did."""
    if isinstance(node, list):
        return [decode(part, arrays, classes) for part in node]
    if not isinstance(node, dict):
        return node
    match node:
        case {"float": str(text), **rest} if not rest:
            return NOT_IN_JSON[text]
        case {"tuple": list(parts), **rest} if not rest:
            return tuple(decode(part, arrays, classes) for part in parts)
        case {"dict": list(pairs), **rest} if not rest:
            return {decode(key, arrays, classes): decode(part, arrays, classes) for key, part in pairs}
        case {"array": str(name), **rest} if not rest:
            return arrays[name]
        case {"strings": list(texts), "dtype": str(dtype), **rest} if not rest:
            return _strings(texts, dtype)
        case {"random": state, **rest} if not rest:
            return _random_state(decode(state, arrays, classes))
        case {"object": str(name), "settings": dict(settings), **rest} if not rest:
            return classes[name](**{key: decode(part, arrays, classes) for key, part in settings.items()})
    raise ValueError(f"no value is written as an object with the names {sorted(node)}")


def encoded(values: Mapping[str, Any], group: str, arrays: Arrays, classes: Classes) -> dict[str, Any]:
    """Return named values as JSON; their arrays go to ``arrays``, under names that start with ``group``."""
    return {name: encode(value, f"{group}.{name}", arrays, classes) for name, value in values.items()}


def decoded(nodes: Mapping[str, Any], arrays: Arrays, classes: Classes) -> dict[str, Any]:
    """Return named values from JSON and arrays."""
    return {name: decode(node, arrays, classes) for name, node in nodes.items()}


def _strings(texts: list[Any], dtype: str) -> NDArray[Any]:
    array = np.array(texts, dtype=object)
    if array.ndim > 2:
        raise ValueError(f"texts of type {dtype!r} are nested {array.ndim} deep")
    if not all(isinstance(text, str) for text in array.flat):
        raise ValueError(f"texts of type {dtype!r} are something else")
    if dtype == "object":
        return array
    widest, wanted = max((len(text) for text in array.flat), default=1), int(dtype.removeprefix("<U"))
    if wanted < widest:
        raise ValueError(f"texts of type {dtype!r} are longer than that")
    # A file may ask for any width; beyond what is small anyhow it gets what its texts need.
    width = wanted if wanted * array.size <= MOST_PADDED else widest
    if width * array.size > max(MOST_PADDED, MOST_PADDING * sum(len(text) for text in array.flat)):
        raise ValueError(f"{array.size} texts of type {dtype!r} are far shorter than the longest of them")
    return array.astype(f"<U{width}")


def _random_state(state: Any) -> np.random.RandomState:
    """Return the RandomState in a state that was saved; NumPy itself would take a position outside of it."""
    match state:
        case {
            "bit_generator": "MT19937",
            "state": {"key": np.ndarray() as key, "pos": int(pos)},
            "has_gauss": 0 | 1,
            "gauss": int() | float() as gauss,
        }:
            right = key.dtype == np.uint32 and key.shape == (MERSENNE_WORDS,) and key.any()
            if right and 0 <= pos <= MERSENNE_WORDS and math.isfinite(gauss):
                random = np.random.RandomState()
                random.set_state(state)
                return random
    raise ValueError("a RandomState is none: its key, its position or its last number cannot be")
