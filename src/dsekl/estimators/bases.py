"""The basis of a fitted model as plain values and arrays, and back.

What the compiled products take for granted is checked here, since a file could say anything: shapes that fit each
other, and indices that stay inside.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dsekl.expansions.fourier import FourierBasis
from dsekl.gram.csr import SparseGram, SparsePoints
from dsekl.gram.dense import DenseGram
from dsekl.gram.placement import Placement
from dsekl.gram.points import DensePoints
from dsekl.gram.structured import ObjectBlocks, PrecomputedBlocks, StructuredGram, select

WITNESSES = 3
"""Points whose kernel values tell whether a kernel that is given again is the same."""


def to_values(basis: Any) -> dict[str, Any]:
    """Return what a detached basis is made of, without its kernel."""
    match basis:
        case DenseGram(col_points=points):
            data = np.asarray(points.data)  # those of a mapped X may be in a file of their own
            own = {"data": data, "norms": points.norms, "leaf": points.leaf, "reach": float(basis.reach)}
            return {"kind": "dense", **own, **_placed(basis)}
        case SparseGram(col_points=points):
            return {"kind": "sparse", **_csr(points.data), "norms": points.norms, **_placed(basis)}
        case FourierBasis():
            frequencies = {"frequencies": basis.frequencies, "phases": basis.phases, "n_drawn": basis.n_drawn}
            return {"kind": "fourier", **frequencies, "sparse": sparse.issparse(basis.points), **_placed(basis)}
        case StructuredGram(source=PrecomputedBlocks() as source):
            n_points = source.matrix.shape[1]
            return {"kind": "precomputed", "chosen": source.chosen, "n_points": n_points, "budget": basis.budget}
        case StructuredGram(source=ObjectBlocks() as source):
            return {"kind": "objects", **_objects(source.col_objects), "budget": basis.budget}
    raise ValueError(f"a model on {type(basis).__name__} cannot be saved; use joblib.dump")


def from_values(kernel: Any, values: dict[str, Any]) -> Any:
    """Return the detached basis that ``to_values`` described."""
    budget = int(values["budget"])
    _require(budget > 0, "a memory budget")
    match values["kind"]:
        case "dense":
            placement, data = _placement(values), values["data"]
            points = DensePoints(data, values["norms"], values["leaf"])
            _require(data.ndim == 2 and data.shape[1] == placement.scale.size, "points with one column per feature")
            _require(points.norms.shape == points.leaf.shape == data.shape[:1], "one norm and one leaf per point")
            _require(data.dtype == points.norms.dtype == placement.dtype, "points of the kernel's type")
            _require(points.leaf.dtype == np.int64, "leaves")
            reach = float(values["reach"])
            return DenseGram(kernel, placement, points.take(slice(0)), points, budget, 1, reach)
        case "sparse":
            placement = _placement(values)
            rows = _from_csr(values, placement)
            sparse_points = SparsePoints(rows, values["norms"])
            _require(sparse_points.norms.shape == rows.shape[:1], "one norm per point")
            _require(sparse_points.norms.dtype == placement.dtype, "norms of the kernel's type")
            return SparseGram(kernel, placement, sparse_points.take(slice(0)), sparse_points, budget, 1)
        case "fourier":
            placement = _placement(values)
            frequencies, phases = values["frequencies"], values["phases"]
            _require(frequencies.shape == (placement.scale.size, len(phases)), "a frequency per feature and term")
            _require(int(values["n_drawn"]) >= len(phases), "as many terms as were drawn")
            nothing = np.empty((0, placement.scale.size), dtype=placement.dtype)
            rows = sparse.csr_array(nothing) if values["sparse"] else nothing
            return FourierBasis(rows, frequencies, phases, int(values["n_drawn"]), placement, budget)
        case "precomputed":
            chosen, n_points = values["chosen"], int(values["n_points"])
            _require(chosen.ndim == 1 and chosen.dtype == np.intp, "numbers of points")
            _require(not len(chosen) or 0 <= chosen.min() <= chosen.max() < n_points, "points of the kernel matrix")
            return StructuredGram(PrecomputedBlocks(np.empty((0, n_points)), chosen), budget)
        case "objects":
            return StructuredGram(ObjectBlocks(kernel.function, [], _from_objects(values)), budget)
    raise ValueError(f"{values['kind']!r} is no kind of basis")


def witness(basis: Any) -> NDArray[np.float64]:
    """Return the kernel values of the first few points with each other; nothing where no kernel is needed."""
    some = np.arange(min(WITNESSES, basis.n_terms))
    match basis:
        case DenseGram():
            basis = replace(basis, row_points=basis.col_points.take(some))
        case SparseGram():
            basis = replace(basis, row_points=basis.col_points.take(some))
        case StructuredGram(source=ObjectBlocks() as source):
            basis = basis.at(select(source.col_objects, some))
        case _:
            return np.empty((0, 0))
    return np.asarray(basis.block(some, some), dtype=np.float64)


def _require(condition: Any, what: str) -> None:
    if not condition:
        raise ValueError(f"the basis lacks {what}")


def _placed(basis: Any) -> dict[str, Any]:
    placement = basis.placement
    return {"center": placement.center, "scale": placement.scale, "dtype": placement.dtype, "budget": basis.budget}


def _placement(values: dict[str, Any]) -> Placement:
    center, scale, dtype = values["center"], values["scale"], values["dtype"]
    _require(dtype in ("float32", "float64"), "a type of numbers")
    _require(scale.ndim == 1 and scale.dtype == np.float64, "a scale per feature")
    _require(center is None or (center.shape == scale.shape and center.dtype == np.float64), "a centre per feature")
    return Placement(center, scale, dtype)


def _csr(rows: sparse.csr_array) -> dict[str, Any]:
    return {"entries": rows.data, "features": rows.indices, "starts": rows.indptr}


def _from_csr(values: dict[str, Any], placement: Placement) -> sparse.csr_array:
    entries, features, starts = values["entries"], values["features"], values["starts"]
    _require(entries.dtype == placement.dtype, "entries of the kernel's type")
    _require(features.dtype.kind == starts.dtype.kind == "i" and starts.ndim == 1 and len(starts), "places of entries")
    rows = sparse.csr_array((entries, features, starts), shape=(len(starts) - 1, placement.scale.size))
    rows.check_format(full_check=True)
    _require(rows.has_canonical_format, "entries in order")
    return rows


def _objects(objects: Any) -> dict[str, Any]:
    """Return numbers as they are, and texts as their bytes end to end."""
    if isinstance(objects, np.ndarray) and objects.dtype.kind in "biuf":
        return {"numbers": objects}
    if not all(isinstance(text, str) for text in objects):
        kinds = sorted({type(thing).__name__ for thing in objects})
        raise ValueError(
            f"the kernel's points are objects of type {', '.join(kinds)}, and a model file holds numbers and texts "
            "alone; use joblib.dump and load only files that you trust"
        )
    texts = [text.encode("utf-8", "surrogatepass") for text in objects]
    dtype = "list" if not isinstance(objects, np.ndarray) else objects.dtype.str if objects.dtype.kind == "U" else "O"
    return {
        "text": np.frombuffer(b"".join(texts), dtype=np.uint8),
        "lengths": np.array([len(text) for text in texts], dtype=np.int64),
        "of": dtype,
    }


def _from_objects(values: dict[str, Any]) -> Any:
    if "numbers" in values:
        return values["numbers"]
    lengths, content = values["lengths"], values["text"].tobytes()
    _require(lengths.ndim == 1 and (lengths >= 0).all() and lengths.sum() == len(content), "texts of their lengths")
    ends = np.cumsum(lengths)
    parts = zip(ends - lengths, ends, strict=True)
    texts = [content[start:end].decode("utf-8", "surrogatepass") for start, end in parts]
    if values["of"] == "list":
        return texts
    return np.array(texts, dtype=object) if values["of"] == "O" else np.array(texts, dtype=str)
