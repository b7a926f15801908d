"""Dataclasses as plain values, field by field, and back, with every type, shape and range checked on the way.

What a state's arrays must be stands beside their fields (``solvers/state.py``). Nothing here knows a solver.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, fields, is_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from dsekl.solvers.state import Form, Range

BITS_OF_A_SEED = 128
"""Of each of the two numbers that PCG64, NumPy's default generator, is made of."""

Thing = TypeVar("Thing")


def to_values(thing: Any) -> dict[str, Any]:
    """Return the fields of a dataclass, those aside that are not to be saved."""
    return {field.name: _value(vars(thing)[field.name]) for field in fields(thing) if _is_saved(field)}


def from_values(kind: type[Thing], values: object, sizes: Mapping[str, int], name: str) -> Thing:
    """Return the dataclass that ``to_values`` described; ValueError names the field that cannot be one of its own."""
    saved = [field for field in fields(kind) if _is_saved(field)]  # type: ignore[arg-type]
    wanted = {field.name for field in saved}
    if not isinstance(values, dict) or set(values) != wanted:
        found = sorted(values) if isinstance(values, dict) else type(values).__name__
        raise ValueError(f"{name} has the fields {found}, not {sorted(wanted)}")
    hints = get_type_hints(kind, include_extras=True)
    return kind(
        **{
            field.name: checked(hints[field.name], values[field.name], sizes, f"{name}'s {field.name}")
            for field in saved
        }
    )


def _is_saved(field: Field[Any]) -> bool:
    return bool(field.metadata.get("saved", True))


def _value(value: object) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return to_values(value)
    if isinstance(value, np.random.Generator):
        return value.bit_generator.state
    return value


def checked(hint: Any, value: Any, sizes: Mapping[str, int], name: str) -> Any:
    """Return a value, made what its type says; ValueError if it cannot be."""
    kinds = get_args(hint) if get_origin(hint) in (UnionType, Union) else (hint,)
    if value is None and NoneType in kinds:
        return None
    for kind in kinds:
        plain = get_origin(kind) or kind
        if plain is Annotated:
            base, rule = get_args(kind)[:2]
            if isinstance(rule, Form) and isinstance(value, np.ndarray):
                return _array(rule, value, sizes, name)
            if isinstance(rule, Range) and type(value) in ((int, float) if base is float else (base,)):
                return _number(rule, value, base, name)
        elif plain is np.random.Generator:
            return generator(value, name)
        elif isinstance(plain, type) and is_dataclass(plain):
            return from_values(plain, value, sizes, name)
        elif plain is Literal and type(value) is str and value in get_args(kind):
            return value
        elif plain is list and type(value) is list:
            (inner,) = get_args(kind)
            return [checked(inner, part, sizes, f"{name}'s entry {k}") for k, part in enumerate(value)]
        elif plain is dict and type(value) is dict and all(type(key) is str for key in value):
            inner = get_args(kind)[1]
            return {key: checked(inner, part, sizes, f"{name}'s {key}") for key, part in value.items()}
        elif plain is float and type(value) in (float, int) and value == value:
            return float(value)
        elif (plain in (int, bool, str) and type(value) is plain) or (plain is Mapping and type(value) is dict):
            return value
    raise ValueError(f"{name} is {value!r:.60}, which it cannot be")


def _number(rule: Range, value: float, base: type, name: str) -> Any:
    if not rule.holds(value):
        raise ValueError(f"{name} is {value!r:.60}, which it cannot be")
    return base(value)


def _array(form: Form, value: np.ndarray[Any, Any], sizes: Mapping[str, int], name: str) -> np.ndarray[Any, Any]:
    """Return a copy of an array that is right, so that no two fields share one."""
    if value.dtype != np.dtype(form.dtype):
        raise ValueError(f"{name} is an array of {value.dtype}, not {form.dtype}")
    wanted = tuple(sizes.get(size) for size in form.shape)
    if value.ndim != len(wanted) or any(size not in (None, n) for size, n in zip(wanted, value.shape, strict=True)):
        raise ValueError(f"{name} has shape {value.shape}, not {form.shape} with {dict(sizes)}")
    if value.dtype.kind == "f" and not np.isfinite(value).all():
        raise ValueError(f"{name} holds numbers that are not finite")
    if form.least is not None and value.size and value.min() < form.least:
        raise ValueError(f"{name} holds numbers below {form.least}")
    if form.below is not None and value.size and not 0 <= value.min() <= value.max() < sizes[form.below]:
        raise ValueError(f"{name} holds indices that are not below {sizes[form.below]}")
    return value.copy()


def generator(value: Any, name: str) -> np.random.Generator:
    """Return the random numbers in a state that was saved; ValueError if it is none."""
    match value:
        case {
            "bit_generator": "PCG64",
            "state": {"state": int(state), "inc": int(inc)},
            "has_uint32": 0 | 1,
            "uinteger": int(left),
        }:
            most = 2**BITS_OF_A_SEED
            if 0 <= state < most and 0 <= inc < most and inc % 2 and 0 <= left < 2**32:
                rng = np.random.Generator(np.random.PCG64(0))
                rng.bit_generator.state = value
                return rng
    raise ValueError(f"{name} is no state of random numbers")
