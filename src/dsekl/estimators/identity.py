"""What a run is a run of: its parameters and its data, as short texts that can be compared.

A run may go on only where these are the same. The data are told by a SHA-256 of their bytes, taken a few thousand rows
at a time; objects other than texts by their number alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

import dsekl
from dsekl import persistence
from dsekl.stored import StoredRows

from . import files

OF_THE_MOMENT = frozenset(
    ("max_epochs", "n_jobs", "verbose", "warm_start", "checkpoint", "checkpoint_interval", "callbacks")
)
"""Parameters that may change between two parts of a run: none of them moves a step."""

HASHED_ROWS = 4096


@dataclass(frozen=True)
class Identity:
    """Texts for each parameter, and digests of X, y and sample_weight."""

    parameters: dict[str, str]
    data: dict[str, str]

    @staticmethod
    def of(estimator: Any, X: Any, targets: Any, weights: Any) -> Identity:
        """Return the identity of a fit."""
        settings = {
            name: text_of(value)
            for name, value in estimator.get_params(deep=False).items()
            if name not in OF_THE_MOMENT
        }
        data = {"X": digest(X), "y": digest(targets), "sample_weight": digest(weights)}
        return Identity({**settings, "the version of dsekl": dsekl.__version__}, data)

    def differences(self, other: Identity) -> dict[str, tuple[str, str]]:
        """Return what differs: its name, and the two texts."""
        ours, theirs = {**self.parameters, **self.data}, {**other.parameters, **other.data}
        pairs = {name: (ours.get(name, "nothing"), theirs.get(name, "nothing")) for name in {**ours, **theirs}}
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def text_of(value: Any) -> str:
    """Return a parameter's value as a text; functions are told by name, random states by being one."""
    if isinstance(value, np.random.RandomState):
        return "a RandomState"
    arrays: dict[str, Any] = {}
    try:
        node = persistence.encode(value, "", arrays, files.SETTINGS)
    except ValueError:
        return files.describe_own_kernel(value) or repr(value)
    return " ".join([json.dumps(node), *(digest(array) for array in arrays.values())])


def digest(rows: Any) -> str:
    """Return the SHA-256 of an array, a CSR matrix or a sequence of objects."""
    found = hashlib.sha256()
    for part in _bytes_of(rows):
        found.update(part)
    return found.hexdigest()


def _bytes_of(rows: Any) -> Iterable[Any]:
    if sparse.issparse(rows):
        yield repr(rows.shape).encode()
        for array in (rows.indptr, rows.indices, rows.data):
            yield from _bytes_of(array)
    elif isinstance(rows, np.ndarray | StoredRows) and rows.dtype.kind in "biuf":
        yield f"{rows.dtype} {rows.shape}".encode()
        for start in range(0, len(rows), HASHED_ROWS):
            yield np.ascontiguousarray(rows[start : start + HASHED_ROWS]).reshape(-1).view(np.uint8).data
    else:
        yield f"{len(rows)} objects".encode()
        for thing in rows:
            if isinstance(thing, str):
                text = thing.encode("utf-8", "surrogatepass")
                yield len(text).to_bytes(8, "little")
                yield text
