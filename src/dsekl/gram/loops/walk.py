"""The innermost loop for sparse points: one row's entries against a few columns, held in registers.

Some columns at a time are spread into a small dense table with one line per feature. A row then walks over
its own entries only: ``pairwise(x, z) = pairwise(0, z) + sum over the entries of x of [d(x_k, z_k) - d(0, z_k)]``,
which holds for every comparison that is a sum over features. The sums of the 64 (float32) or 32 (float64) columns
stay in registers on the way, so a step is one load and one multiply-add for each line of columns. What bounds it is
the cache: a few rows walk over one slab of features, then over the next.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import float64, int32, int64, intp, types, void
from numba.core import cgutils
from numba.core.base import BaseContext
from numba.core.typing import Signature
from numba.extending import intrinsic

from dsekl.compiled import NUMBER, compiled, matrix, njit, profile_signature, vector
from dsekl.kernels import Pairwise

from .microtile import (
    LINE_BYTES,
    TILE_ROWS,
    accumulate_chi_squared,
    accumulate_dot,
    accumulate_manhattan,
    broadcast,
    distances_from_dots,
)
from .strips import add_weighted, pack_weights

TABLE_LINES = 4
"""Lines of columns in the table: 8 of AVX2's 16 registers."""

STRIP_ROWS = 12
"""Rows whose kernel values are made at once."""

SLAB_FEATURES = 400
"""Features that rows walk over at a time: 100 KB of the table, the best of several sizes with 784 features."""

FEWEST_ENTRIES = 32
"""Entries that a row should have in a slab: for fewer, the walks cost less than their ends."""


def table_width(dtype: str) -> int:
    """Return how many columns the table holds."""
    return TABLE_LINES * LINE_BYTES // np.dtype(dtype).itemsize


def _walk_codegen(accumulate: Any) -> Any:
    """Return the code generator of ``strip[r] += sum over entries of accumulate(entry, table[feature of entry])``."""

    def codegen(context: BaseContext, builder: ir.IRBuilder, signature: Signature, args: list[ir.Value]) -> Any:
        arrays = [
            context.make_array(kind)(context, builder, value)
            for kind, value in zip(signature.args, args, strict=True)
            if isinstance(kind, types.Array)
        ]
        features, entries, table, strip = (array.data for array in arrays)
        begin, end, r = args[2], args[3], args[6]
        index = begin.type
        number = signature.args[1].dtype
        item_bytes = number.bitwidth // 8
        width = LINE_BYTES // item_bytes
        line = ir.VectorType(context.get_value_type(number), width)
        sums = builder.gep(strip, [builder.mul(r, index(TABLE_LINES * width))])

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


def _walk_signature(features: Any, entries: Any, table: Any, strip: Any) -> Any:
    return void(features, entries, intp, intp, table, strip, intp)


def _beyond_zero(accumulate: Any) -> Any:
    """Return ``total + d(x, z) - d(0, z)``, for distances where the second is ``|z|``."""

    def change(builder: ir.IRBuilder, total: ir.Value, x: ir.Value, z: ir.Value) -> Any:
        nothing = ir.Constant(z.type, [ir.Constant(z.type.element, 0.0)] * z.type.count)
        alone = accumulate_manhattan(builder, nothing, nothing, z)
        return builder.fsub(accumulate(builder, total, x, z), alone)

    return change


@intrinsic
def _walk_dot(typingctx: Any, features: Any, entries: Any, begin: Any, end: Any, table: Any, strip: Any, r: Any) -> Any:
    return _walk_signature(features, entries, table, strip), _walk_codegen(accumulate_dot)


@intrinsic
def _walk_manhattan(
    typingctx: Any, features: Any, entries: Any, begin: Any, end: Any, table: Any, strip: Any, r: Any
) -> Any:
    return _walk_signature(features, entries, table, strip), _walk_codegen(_beyond_zero(accumulate_manhattan))


@intrinsic
def _walk_chi_squared(
    typingctx: Any, features: Any, entries: Any, begin: Any, end: Any, table: Any, strip: Any, r: Any
) -> Any:
    return _walk_signature(features, entries, table, strip), _walk_codegen(_beyond_zero(accumulate_chi_squared))


@njit(cache=True, nogil=True)
def _compare_dot(
    starts: Any, features: Any, entries: Any, row_norms: Any, first: Any, end: Any, n_features: Any,
    table: Any, norms: Any, strip: Any,
) -> None:  # fmt: skip
    strip[:] = 0.0
    for slab in range(starts.shape[1] - 1):
        for r in range(STRIP_ROWS):
            i = min(first + r, end - 1)
            _walk_dot(features, entries, starts[i, slab], starts[i, slab + 1], table, strip, r)


@njit(cache=True, nogil=True)
def _compare_squared_distance(
    starts: Any, features: Any, entries: Any, row_norms: Any, first: Any, end: Any, n_features: Any,
    table: Any, norms: Any, strip: Any,
) -> None:  # fmt: skip
    _compare_dot(starts, features, entries, row_norms, first, end, n_features, table, norms, strip)
    for r in range(STRIP_ROWS):
        distances_from_dots(strip[r], row_norms[min(first + r, end - 1)], norms, n_features)


@njit(cache=True, nogil=True)
def _not_below_zero(strip: Any) -> None:
    """A distance that was added up in pieces may miss 0 by rounding."""
    for r in range(strip.shape[0]):
        for j in range(strip.shape[1]):
            strip[r, j] = max(strip[r, j], strip.dtype.type(0.0))


@njit(cache=True, nogil=True)
def _compare_manhattan(
    starts: Any, features: Any, entries: Any, row_norms: Any, first: Any, end: Any, n_features: Any,
    table: Any, norms: Any, strip: Any,
) -> None:  # fmt: skip
    strip[:] = norms
    for slab in range(starts.shape[1] - 1):
        for r in range(STRIP_ROWS):
            i = min(first + r, end - 1)
            _walk_manhattan(features, entries, starts[i, slab], starts[i, slab + 1], table, strip, r)
    _not_below_zero(strip)


@njit(cache=True, nogil=True)
def _compare_chi_squared(
    starts: Any, features: Any, entries: Any, row_norms: Any, first: Any, end: Any, n_features: Any,
    table: Any, norms: Any, strip: Any,
) -> None:  # fmt: skip
    strip[:] = norms
    for slab in range(starts.shape[1] - 1):
        for r in range(STRIP_ROWS):
            i = min(first + r, end - 1)
            _walk_chi_squared(features, entries, starts[i, slab], starts[i, slab + 1], table, strip, r)
    _not_below_zero(strip)


COMPARE = {
    Pairwise.DOT: _compare_dot,
    Pairwise.SQUARED_DISTANCE: _compare_squared_distance,
    Pairwise.MANHATTAN: _compare_manhattan,
    Pairwise.CHI_SQUARED: _compare_chi_squared,
}


@njit(cache=True, nogil=True)
def slab_starts(ptr: Any, features: Any, first_features: Any) -> Any:
    """Return where each point's entries of each slab start, and behind them where the point ends."""
    starts = np.empty((ptr.size - 1, first_features.size + 1), dtype=np.int64)
    for i in range(ptr.size - 1):
        at = ptr[i]
        for slab in range(first_features.size):
            while at < ptr[i + 1] and features[at] < first_features[slab]:
                at += 1
            starts[i, slab] = at
        starts[i, -1] = ptr[i + 1]
    return starts


@njit(cache=True, nogil=True)
def table_ends(starts: Any, features: Any, n_features: Any, width: Any, most: Any) -> Any:
    """Return the ends of parts of the columns with at most so many features.

    A part is a multiple of ``width`` columns, if so many columns have few enough features, and one column at the least.
    """
    part_of = np.full(n_features, -1, dtype=np.int64)
    ends = np.empty(starts.shape[0] + 1, dtype=np.int64)
    n_parts, begin, j, found = 0, 0, 0, 0
    while j < starts.shape[0]:
        for at in range(starts[j, 0], starts[j, -1]):
            if part_of[features[at]] != n_parts:
                part_of[features[at]] = n_parts
                found += 1
        j += 1
        if found > most and j - begin > 1:
            fitting = j - 1 - begin
            j = begin + max(fitting // width * width, min(fitting, width))
            ends[n_parts] = begin = j
            n_parts, found = n_parts + 1, 0
    ends[n_parts] = j
    return ends[: n_parts + (j > begin)]


@njit(cache=True, nogil=True)
def _spread_columns(starts: Any, features: Any, entries: Any, first: Any, end: Any, table: Any) -> None:
    """Write columns from ``first`` on into the table; past the last column it repeats, so every lane is real."""
    for lane in range(table.shape[1]):
        j = min(first + lane, end - 1)
        for at in range(starts[j, 0], starts[j, -1]):
            table[features[at], lane] = entries[at]


@njit(cache=True, nogil=True)
def _clear_columns(starts: Any, features: Any, first: Any, last: Any, table: Any) -> None:
    for at in range(starts[first, 0], starts[last - 1, -1]):
        table[features[at]] = 0.0


@njit(cache=True, nogil=True)
def _multiply(
    row_starts: Any, row_features: Any, row_entries: Any, row_norms: Any, begin: Any, end: Any,
    col_starts: Any, col_features: Any, col_entries: Any, col_norms: Any, begin_col: Any, end_col: Any,
    n_features: Any, table: Any, compare: Any, profile: Any, params: Any, V: Any, out: Any,
) -> None:  # fmt: skip
    """Add ``K(rows begin..end, cols begin_col..end_col) @ V.T`` to ``out``; for an empty ``V``, write K into it.

    ``n_features`` is how many there are in X, by which rounding is judged; the features of entries are lines of the
    table.
    """
    width = table.shape[1]
    strip = np.empty((STRIP_ROWS, width), dtype=row_entries.dtype)
    norms = np.empty(width, dtype=row_entries.dtype)
    weights = np.empty((V.shape[0], width), dtype=row_entries.dtype)
    for first_col in range(begin_col, end_col, width):
        last_col = min(end_col, first_col + width)
        _spread_columns(col_starts, col_features, col_entries, first_col, end_col, table)
        for lane in range(width):
            norms[lane] = col_norms[min(first_col + lane, end_col - 1)]
        for o in range(V.shape[0]):
            for lane in range(width):
                weights[o, lane] = V[o, first_col + lane] if first_col + lane < last_col else 0.0
        packed = pack_weights(weights, width // TABLE_LINES)
        sums = np.empty((TILE_ROWS, V.shape[0] + packed.shape[1]), dtype=strip.dtype)
        for first in range(begin, end, STRIP_ROWS):
            compare(
                row_starts, row_features, row_entries, row_norms, first, end, n_features, table, norms, strip,
            )  # fmt: skip
            profile(strip, params)
            if V.shape[0] == 0:
                for r in range(min(STRIP_ROWS, end - first)):
                    for lane in range(last_col - first_col):
                        out[first + r, first_col + lane] = strip[r, lane]
            else:
                add_weighted(strip, weights, packed, sums, first, min(STRIP_ROWS, end - first), out)
        _clear_columns(col_starts, col_features, first_col, last_col, table)


def _points_types(dtype: str) -> list[Any]:
    """Return the types of starts, features, entries and norms."""
    number = NUMBER[dtype]
    return [matrix(int64), vector(int32), vector(number), vector(number)]


def comparison_signature(dtype: str) -> Any:
    """``compare(starts, features, entries, row_norms, first, end, n_features, table, norms, strip)``."""
    number = NUMBER[dtype]
    return void(*_points_types(dtype), intp, intp, intp, matrix(number), vector(number), matrix(number))


def multiply_for(dtype: str, out_dtype: str) -> Any:
    """Return the compiled product of a number type, with results of another."""
    number, points = NUMBER[dtype], _points_types(dtype)
    functions = [types.FunctionType(comparison_signature(dtype)), types.FunctionType(profile_signature(dtype))]
    return compiled(
        _multiply,
        void(*points, intp, intp, *points, intp, intp, intp, matrix(number), *functions, vector(float64),
             matrix(number), matrix(NUMBER[out_dtype])),
    )  # fmt: skip
