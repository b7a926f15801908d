"""Dataclasses as plain values, field by field, and back, with every type, shape and range checked on the way.

What a state's arrays must be stands beside their fields (``solvers/state.py``). Nothing here knows a solver.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, fields, is_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from dsekl.solvers.state import Form

Thing = TypeVar("Thing")


def to_values(thing: Any) -> dict[str, Any]:
    """Return the fields of a dataclass, those aside that are not to be saved."""
    return {field.name: _value(vars(thing)[field.name]) for field in fields(thing) if _is_saved(field)}


def from_values(kind: type[Thing], values: Any, sizes: Mapping[str, int], name: str) -> Thing:
    """Return the dataclass that ``to_values`` described; ValueError names the field that cannot be one of its own."""
    saved = [field for field in fields(kind) if _is_saved(field)]  # type: ignore[arg-type]
    wanted = {field.name for field in saved}
    if not isinstance(values, dict) or set(values) != wanted:
        found = sorted(values) if isinstance(values, dict) else type(values).__name__
        raise ValueError(f"{name} has the fields {found}, not {sorted(wanted)}")
    hints = get_type_hints(kind, include_extras=True)
    return kind(
        **{
            field.name: _checked(hints[field.name], values[field.name], sizes, f"{name}'s {field.name}")
            for field in saved
        }
    )


def _is_saved(field: Field[Any]) -> bool:
    return bool(field.metadata.get("saved", True))


def _value(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return to_values(value)
    if isinstance(value, np.random.Generator):
        return value.bit_generator.state
    return value


def _checked(hint: Any, value: Any, sizes: Mapping[str, int], name: str) -> Any:
    """Return a field's value, made what its type says; ValueError if it cannot be."""
    kinds = get_args(hint) if get_origin(hint) in (UnionType, Union) else (hint,)
    if value is None and NoneType in kinds:
        return None
    for kind in kinds:
        plain = get_origin(kind) or kind
        if plain is Annotated and isinstance(value, np.ndarray):
            return _array(get_args(kind)[1], value, sizes, name)
        if plain is np.random.Generator:
            return generator(value, name)
        if isinstance(plain, type) and is_dataclass(plain):
            return from_values(plain, value, sizes, name)
        if plain is float and type(value) in (float, int) and value == value:
            return float(value)
        if plain is list and type(value) is list and all(isinstance(part, dict) for part in value):
            return value
        if plain in (int, bool, str, dict) and type(value) is plain:
            return value
        if plain is Mapping and isinstance(value, dict):
            return value
    raise ValueError(f"{name} is {value!r:.60}, which it cannot be")


def _array(form: Form, value: np.ndarray[Any, Any], sizes: Mapping[str, int], name: str) -> np.ndarray[Any, Any]:
    if value.dtype != np.dtype(form.dtype):
        raise ValueError(f"{name} is an array of {value.dtype}, not {form.dtype}")
    wanted = tuple(sizes.get(size) for size in form.shape)
    if value.ndim != len(wanted) or any(size not in (None, n) for size, n in zip(wanted, value.shape, strict=True)):
        raise ValueError(f"{name} has shape {value.shape}, not {form.shape} with {dict(sizes)}")
    if value.dtype.kind == "f" and not np.isfinite(value).all():
        raise ValueError(f"{name} holds numbers that are not finite")
    if form.below is not None and value.size and not 0 <= value.min() <= value.max() < sizes[form.below]:
        raise ValueError(f"{name} holds indices that are not below {sizes[form.below]}")
    return value


def generator(value: Any, name: str) -> np.random.Generator:
    """Return the random numbers in a state that was saved; ValueError if it is none."""
    rng = np.random.default_rng()
    try:
        rng.bit_generator.state = value
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        raise ValueError(f"{name} is no state of random numbers") from error
    return rng
