"""Forging of our own files by somebody who knows them: any part changed, and all checksums made right again."""

from __future__ import annotations

import copy
import hashlib
import json
import random
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from dsekl import persistence

Header = dict[str, Any]
Arrays = dict[str, Any]
Key = str | int

STRANGE: list[Any] = [
    None, True, False, -1, 0, 1, 2, 7, 0.5, -0.5, 1e-300, 1e300, -1e300, 2**31, 2**53 + 1, 2**63, 2**64, 10**300, -5,
    "", "x" * 1000, "auto", "learn", "rbf", "poly", "precomputed", "tol", "__class__", "float32", "float64", [], {},
    [[]], [1, 2], {"float": "nan"}, {"float": "inf"}, {"float": "-inf"}, {"array": "nothing"}, {"tuple": [1, 2]},
    {"dict": []}, {"dict": [[1, 2], [1, 3]]}, {"dict": [[[], 1]]}, {"strings": ["a", "b"], "dtype": "<U1"},
    {"strings": ["a", "b"], "dtype": "object"}, {"strings": ["a"], "dtype": "<U1000000000"},
    {"strings": ["a" * 10**5, *[""] * 10**4], "dtype": "<U100000"}, {"random": 3}, {"random": {"dict": []}},
    {"object": "os.system", "settings": {}}, {"object": "RBF", "settings": {}}, {"object": "Hinge", "settings": {}},
    {"object": "Polynomial", "settings": {"degree": 10**9, "coef0": 1.0}},
    {"object": "Polynomial", "settings": {"degree": 3, "coef0": 1e300}},
    {"object": "RationalQuadratic", "settings": {"shape": 1e-300}}, {"object": "Sigmoid", "settings": {"coef0": "x"}},
    {"object": "DualAscent", "settings": {"block_size": 10**18, "most_sweeps": 10**18}},
    {"object": "DoublyStochastic", "settings": {"n_rows": -1}}, {"object": "Matern", "settings": {"nu": [1.5]}},
    {"object": "RandomFourier", "settings": {"n_terms": 10**12}},
]  # fmt: skip

BUILT_FROM = ("parameters", "fitted", "basis", "run", "table", "columns", "slots", "codes", "progress")
"""Parts of a header that something is built from."""

NUMBERS: list[Callable[[Any], Any]] = [
    lambda x: -x, lambda x: 0 * x, lambda x: x + 1, lambda x: x - 1, lambda x: x * 1000, lambda x: x // 1000,
    lambda x: x * 10**30, lambda x: float(x), lambda x: int(x), lambda x: str(x), lambda x: [x], lambda x: 10**18,
    lambda x: {"float": "nan"}, lambda x: {"float": "inf"}, lambda x: x + 0.5, lambda x: 1e-320, lambda x: 10**4000,
    lambda x: True, lambda x: 1e308, lambda x: 1e200, lambda x: 2**31 - 1,
]  # fmt: skip


Files = Mapping[str, tuple[Header, Arrays]]


def forged(
    header: Header, arrays: Arrays, rng: random.Random, changes: int | None = None, others: Files | None = None
) -> bytes:
    """Return a file in which one part is something else; two or three in some, or as many as are asked for.

    Some have a part of one of the ``others``.
    """
    header, arrays = copy.deepcopy(header), dict(arrays)
    for _ in range(rng.choice((1, 1, 1, 1, 2, 3)) if changes is None else changes):
        if others is not None and rng.random() < 0.15:
            transplant(header, arrays, *others[rng.choice(sorted(others))], rng)
        elif arrays and rng.random() < 0.45:
            change_array(arrays, rng)
        else:
            change_node(header, arrays, rng)
    return content(header, arrays)


def content(header: Header, arrays: Arrays) -> bytes:
    """Return the bytes of a file with all its checksums right."""
    arrays = {name: np.array(array, order="C") for name, array in arrays.items()}
    entries = {
        name: {
            "dtype": array.dtype.name,
            "shape": list(array.shape),
            "sha256": hashlib.sha256(array.tobytes()).hexdigest(),
        }
        for name, array in arrays.items()
    }
    listed = header if "arrays" in header else {**header, "format": header.get("format", 1), "arrays": entries}
    text = json.dumps(listed)
    return bytes(save(arrays, {"dsekl": text, "sha256": hashlib.sha256(text.encode()).hexdigest()}))


def nodes(tree: Any) -> Iterator[tuple[Any, Key]]:
    """Yield every node of a JSON tree, as what holds it and its place there."""
    keys: list[Any] = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
    for key in keys:
        yield tree, key
        if isinstance(tree[key], dict | list):
            yield from nodes(tree[key])


def place_in(header: Header, group: str, rng: random.Random) -> tuple[Any, Key]:
    """Draw a node of a group: any of them alike, or by a walk down, to which what lies beside long lists is as near."""
    if not isinstance(header[group], dict | list) or not header[group] or rng.random() < 0.1:
        return header, group
    if rng.random() < 0.5:
        return rng.choice(list(nodes(header[group])))
    holder: Any = header
    key: Key = group
    while isinstance(holder[key], dict | list) and holder[key] and rng.random() < 0.9:
        holder = holder[key]
        key = rng.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
    return holder, key


def change_node(header: Header, arrays: Arrays, rng: random.Random) -> None:
    """Change one node of the header; most often in a part that something is built from."""
    inner = [name for name in BUILT_FROM if header.get(name)]
    group = rng.choice(inner if inner and rng.random() < 0.85 else list(header))
    holder, key = place_in(header, group, rng)
    value = holder[key]
    kind = rng.randrange(12)
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(holder, dict):
        holder[rng.choice([f"{key}x", "__class__", "checkpoint", "predict", ""])] = holder.pop(key)
    elif kind == 2:
        holder[key] = holder[rng.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))]
    elif kind == 3 and arrays:
        holder[key] = {"array": rng.choice(list(arrays))}
    elif kind == 4:
        holder[key] = nested(value, rng)
    elif kind == 5:
        other, place = rng.choice(list(nodes(header)))
        holder[key] = copy.deepcopy(other[place])
    elif isinstance(value, list) and value and kind < 9:
        change_list(value, rng)
    elif isinstance(value, int | float) and not isinstance(value, bool) and kind < 11:
        try:
            holder[key] = rng.choice(NUMBERS)(value)
        except (OverflowError, ValueError):  # of a number that was forged before
            holder[key] = 0
    else:
        holder[key] = copy.deepcopy(rng.choice(STRANGE))


def transplant(header: Header, arrays: Arrays, donor: Header, theirs: Arrays, rng: random.Random) -> None:
    """Put a part of another file, right by itself, in the place of ours: a group or one entry, and its arrays."""
    groups = [name for name in BUILT_FROM if isinstance(donor.get(name), dict) and isinstance(header.get(name), dict)]
    if not groups:
        return
    part = group = rng.choice(groups)
    if donor[group] and rng.random() < 0.7:
        name = rng.choice(sorted(donor[group]))
        header[group][name] = copy.deepcopy(donor[group][name])
        part = f"{group}.{name}"
    else:
        header[group] = copy.deepcopy(donor[group])
    arrays.update({name: array for name, array in theirs.items() if name.startswith(part)})


def nested(value: Any, rng: random.Random) -> Any:
    """Wrap a value in lists or objects, a few or very many."""
    wrap: Callable[[Any], Any] = rng.choice((lambda inner: [inner], lambda inner: {"tuple": [inner]}))
    for _ in range(rng.choice((1, 3, 100, 300))):  # json.dumps itself can write no more
        value = wrap(value)
    return value


def change_list(values: list[Any], rng: random.Random) -> None:
    """Lose, repeat or exchange entries."""
    place = rng.randrange(len(values))
    match rng.randrange(4):
        case 0:
            del values[place]
        case 1:
            values.insert(place, copy.deepcopy(rng.choice(values)))
        case 2:
            rng.shuffle(values)
        case _:
            values *= rng.choice((0, 2, 50))


def change_array(arrays: Arrays, rng: random.Random) -> None:
    """Change the type, the shape or some numbers of one array, or put another in its place."""
    name = rng.choice(list(arrays))
    array = np.array(arrays[name])
    noise = np.random.default_rng(rng.getrandbits(32))
    match rng.randrange(8):
        case 0:
            arrays[name] = array.astype(rng.choice(["f8", "f4", "f2", "i8", "i4", "u1", "u8", "?"]))
        case 1:
            arrays[name] = reshaped(array, rng)
        case 2:
            arrays[name] = arrays[rng.choice(list(arrays))]
        case 3:
            arrays[name] = noise.permutation(array.reshape(-1)).reshape(array.shape)
        case 4 if array.dtype.kind == "f":
            arrays[name] = array * rng.choice([0.0, -1.0, 1e-300, 1e30, 1e150, 1e300, 2.0, np.nan])
        case _:
            arrays[name] = with_entries(array, rng, noise)


def reshaped(array: Any, rng: random.Random) -> Any:
    """Return an array with more or fewer entries, or as many in another shape."""
    axis = rng.randrange(array.ndim) if array.ndim else 0
    match rng.randrange(7):
        case 0 if array.ndim:
            return np.delete(array, -1, axis=axis) if array.shape[axis] else array[None]
        case 1 if array.size:
            return np.concatenate([array, array[:1]]) if array.ndim else np.repeat(array, 3)
        case 2:
            return array.reshape(-1)
        case 3:
            return array.T
        case 4:
            return array[..., None]
        case 5 if array.ndim:
            return array[:0]
        case _:
            return np.tile(array, rng.choice((2, 50)))


def with_entries(array: Any, rng: random.Random, noise: Any) -> Any:
    """Return an array with one entry, some or all of them changed."""
    flat = array.reshape(-1).copy()
    if not flat.size:
        return np.ones(3, dtype=array.dtype)
    places = rng.choice((slice(0, 1), slice(-1, None), slice(None), noise.integers(flat.size, size=3)))
    if flat.dtype.kind == "f":
        largest = np.finfo(flat.dtype).max
        flat[places] = rng.choice([np.nan, np.inf, -np.inf, 0.0, -1.0, 1e-30, largest, -largest, 1e20, 1e37, 5.0])
    elif flat.dtype.kind == "b":
        flat.view(np.uint8)[places] = rng.choice([0, 1, 2, 255])
    else:
        bounds = np.iinfo(flat.dtype)
        choices = [0, -1, 1, int(flat.max()) + 1, 10**9, 2**31, bounds.max, bounds.min, -(10**9)]
        flat[places] = rng.choice([n for n in choices if bounds.min <= n <= bounds.max])
    return flat.reshape(array.shape)


@cache
def genuine(folder: Path, ending: str = ".dsekl") -> dict[str, tuple[Header, Arrays]]:
    """Return the header and the arrays of each genuine file of a folder, by its name."""
    found = {}
    for path in sorted(folder.glob(f"*{ending}")):
        header, arrays = persistence.read(path)
        found[path.stem] = ({key: part for key, part in header.items() if key != "arrays"}, arrays)
    return found
