"""The innermost loop for sparse points: one row's entries against a few columns, held in registers.

Some columns at a time are spread into a small dense table with one line per feature. A row then walks over
its own entries only: ``pairwise(x, z) = pairwise(0, z) + sum over the entries of x of [d(x_k, z_k) - d(0, z_k)]``,
which holds for every comparison that is a sum over features. The sums of the 64 (float32) or 32 (float64) columns
stay in registers on the way, so a step is one load and one multiply-add for each line of columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import float64, int32, int64, intp, njit, types, void
from numba.core import cgutils
from numba.extending import intrinsic

from dsekl.kernels import Pairwise

from .function_pointer import NUMBER, compiled, matrix, profile_signature, vector
from .microtile import (
    LINE_BYTES,
    accumulate_chi_squared,
    accumulate_dot,
    accumulate_manhattan,
    broadcast,
    distances_from_dots,
)
from .strips import weigh

TABLE_LINES = 4
"""Lines of columns in the table: 8 of AVX2's 16 registers, and 200 KB for 784 features, which fit a second cache."""

STRIP_ROWS = 8
"""Rows whose kernel values are made at once."""


def table_width(dtype: str) -> int:
    """Return how many columns the table holds."""
    return TABLE_LINES * LINE_BYTES // np.dtype(dtype).itemsize


def _walk_codegen(accumulate: Any) -> Any:
    """Return the code generator of ``line += sum over entries of accumulate(entry, table[feature of entry])``."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        arrays = [
            context.make_array(kind)(context, builder, value)
            for kind, value in zip(signature.args, args, strict=True)
            if isinstance(kind, types.Array)
        ]
        features, entries, table, sums = (array.data for array in arrays)
        begin, end = args[2], args[3]
        index = begin.type
        number = signature.args[1].dtype
        item_bytes = number.bitwidth // 8
        width = LINE_BYTES // item_bytes
        line = ir.VectorType(context.get_value_type(number), width)

        def lines_from(start: Any) -> list[Any]:
            places = [builder.gep(start, [index(k * width)]) for k in range(TABLE_LINES)]
            return [builder.bitcast(place, line.as_pointer()) for place in places]

        totals = [cgutils.alloca_once(builder, line) for _ in range(TABLE_LINES)]
        for total, place in zip(totals, lines_from(sums), strict=True):
            builder.store(builder.load(place, align=item_bytes), total)
        with cgutils.for_range_slice(builder, begin, end, index(1), intp=index) as (at, _):
            feature = builder.zext(builder.load(builder.gep(features, [at])), index)
            x = broadcast(builder, builder.load(builder.gep(entries, [at])), line)
            start = builder.gep(table, [builder.mul(feature, index(TABLE_LINES * width))])
            for total, place in zip(totals, lines_from(start), strict=True):
                z = builder.load(place, align=item_bytes)
                builder.store(accumulate(builder, builder.load(total), x, z), total)
        for total, place in zip(totals, lines_from(sums), strict=True):
            builder.store(builder.load(total), place, align=item_bytes)
        return context.get_dummy_value()

    return codegen


def _walk_signature(features: Any, entries: Any, table: Any, sums: Any) -> Any:
    return void(features, entries, intp, intp, table, sums)


def _beyond_zero(accumulate: Any) -> Any:
    """Return ``total + d(x, z) - d(0, z)``, for distances where the second is ``|z|``."""

    def change(builder: Any, total: Any, x: Any, z: Any) -> Any:
        nothing = ir.Constant(z.type, [ir.Constant(z.type.element, 0.0)] * z.type.count)
        alone = accumulate_manhattan(builder, nothing, nothing, z)
        return builder.fsub(accumulate(builder, total, x, z), alone)

    return change


@intrinsic
def _walk_dot(typingctx: Any, features: Any, entries: Any, begin: Any, end: Any, table: Any, sums: Any) -> Any:
    return _walk_signature(features, entries, table, sums), _walk_codegen(accumulate_dot)


@intrinsic
def _walk_manhattan(typingctx: Any, features: Any, entries: Any, begin: Any, end: Any, table: Any, sums: Any) -> Any:
    return _walk_signature(features, entries, table, sums), _walk_codegen(_beyond_zero(accumulate_manhattan))


@intrinsic
def _walk_chi_squared(typingctx: Any, features: Any, entries: Any, begin: Any, end: Any, table: Any, sums: Any) -> Any:
    return _walk_signature(features, entries, table, sums), _walk_codegen(_beyond_zero(accumulate_chi_squared))


@njit(cache=True, nogil=True)
def _compare_dot(
    features: Any, entries: Any, begin: Any, end: Any, row_norm: Any, table: Any, norms: Any, line: Any
) -> None:
    line[:] = 0.0
    _walk_dot(features, entries, begin, end, table, line)


@njit(cache=True, nogil=True)
def _compare_squared_distance(
    features: Any, entries: Any, begin: Any, end: Any, row_norm: Any, table: Any, norms: Any, line: Any
) -> None:
    line[:] = 0.0
    _walk_dot(features, entries, begin, end, table, line)
    distances_from_dots(line, row_norm, norms, table.shape[0])


@njit(cache=True, nogil=True)
def _not_below_zero(line: Any) -> None:
    """A distance that was added up in pieces may miss 0 by rounding."""
    for j in range(line.size):
        line[j] = max(line[j], line.dtype.type(0.0))


@njit(cache=True, nogil=True)
def _compare_manhattan(
    features: Any, entries: Any, begin: Any, end: Any, row_norm: Any, table: Any, norms: Any, line: Any
) -> None:
    line[:] = norms
    _walk_manhattan(features, entries, begin, end, table, line)
    _not_below_zero(line)


@njit(cache=True, nogil=True)
def _compare_chi_squared(
    features: Any, entries: Any, begin: Any, end: Any, row_norm: Any, table: Any, norms: Any, line: Any
) -> None:
    line[:] = norms
    _walk_chi_squared(features, entries, begin, end, table, line)
    _not_below_zero(line)


COMPARE = {
    Pairwise.DOT: _compare_dot,
    Pairwise.SQUARED_DISTANCE: _compare_squared_distance,
    Pairwise.MANHATTAN: _compare_manhattan,
    Pairwise.CHI_SQUARED: _compare_chi_squared,
}


@njit(cache=True, nogil=True)
def _spread_columns(ptr: Any, features: Any, entries: Any, first: Any, table: Any) -> None:
    """Write columns from ``first`` on into the table; past the last column it repeats, so every lane is real."""
    for lane in range(table.shape[1]):
        j = min(first + lane, ptr.size - 2)
        for at in range(ptr[j], ptr[j + 1]):
            table[features[at], lane] = entries[at]


@njit(cache=True, nogil=True)
def _clear_columns(ptr: Any, features: Any, first: Any, last: Any, table: Any) -> None:
    for at in range(ptr[first], ptr[last]):
        table[features[at]] = 0.0


@njit(cache=True, nogil=True)
def _multiply(
    row_ptr: Any, row_features: Any, row_entries: Any, row_norms: Any, begin: Any, end: Any,
    col_ptr: Any, col_features: Any, col_entries: Any, col_norms: Any,
    table: Any, compare: Any, profile: Any, params: Any, V: Any, out: Any,
) -> None:  # fmt: skip
    """``out[begin:end] += K(rows begin..end, cols) @ V.T``; for an empty ``V``, ``out[begin:end] = K(rows, cols)``."""
    n_cols, width = col_ptr.size - 1, table.shape[1]
    strip = np.empty((STRIP_ROWS, width), dtype=row_entries.dtype)
    norms = np.empty(width, dtype=row_entries.dtype)
    weights = np.zeros((V.shape[0], width), dtype=row_entries.dtype)
    for first_col in range(0, n_cols, width):
        last_col = min(n_cols, first_col + width)
        _spread_columns(col_ptr, col_features, col_entries, first_col, table)
        for lane in range(width):
            norms[lane] = col_norms[min(first_col + lane, n_cols - 1)]
        weights[:, : last_col - first_col] = V[:, first_col:last_col]
        weights[:, last_col - first_col :] = 0.0
        for first in range(begin, end, STRIP_ROWS):
            for r in range(STRIP_ROWS):
                i = min(first + r, end - 1)
                compare(row_features, row_entries, row_ptr[i], row_ptr[i + 1], row_norms[i], table, norms, strip[r])
            profile(strip, params)
            for r in range(min(STRIP_ROWS, end - first)):
                if V.shape[0] == 0:
                    out[first + r, first_col:last_col] = strip[r, : last_col - first_col]
                for o in range(V.shape[0]):
                    out[first + r, o] += weigh(strip[r], weights[o])
        _clear_columns(col_ptr, col_features, first_col, last_col, table)


def comparison_signature(dtype: str) -> Any:
    """``compare(features, entries, begin, end, row_norm, table, norms, line)``."""
    number = NUMBER[dtype]
    line = vector(number)
    return void(vector(int32), vector(number), intp, intp, number, matrix(number), line, line)


def multiply_for(dtype: str, out_dtype: str) -> Any:
    """Return the compiled product of a number type, with results of another."""
    number = NUMBER[dtype]
    points = [vector(int64), vector(int32), vector(number), vector(number)]
    functions = [types.FunctionType(comparison_signature(dtype)), types.FunctionType(profile_signature(dtype))]
    return compiled(
        _multiply,
        void(*points, intp, intp, *points, matrix(number), *functions, vector(float64), matrix(number),
             matrix(NUMBER[out_dtype])),
    )  # fmt: skip
