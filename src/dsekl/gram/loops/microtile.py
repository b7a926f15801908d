"""The innermost loop: pairwise values of 6 rows with 16 (float32) or 8 (float64) columns, held in registers.

A processor does its peak arithmetic only if each number that it loads is used several times. The tile keeps
6 x 64 bytes of sums in registers (12 of the 16 that AVX2 has) while it walks once over the features; each
step loads one packed line of columns and six row entries for twelve multiply-adds. Plain Numba code spills
these sums to memory, so the tile is written in LLVM's vector operations, which every CPU's back end maps to
the registers that it has.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.base import BaseContext
from numba.core.typing import Signature
from numba.extending import intrinsic

from dsekl.compiled import inlined, njit
from dsekl.kernels import Pairwise
from dsekl.kernels.elementary import FAST

TILE_ROWS = 6
LINE_BYTES = 64
_FLAGS = ("contract", "reassoc", "nsz")

SINGLE_EPS, DOUBLE_EPS = float(np.finfo(np.float32).eps), float(np.finfo(np.float64).eps)
"""Constants, since ``np.finfo`` itself takes a tenth of a second to compile."""


def line_width(dtype: str) -> int:
    """Return how many columns stand side by side in one packed line."""
    return LINE_BYTES // (4 if dtype == "float32" else 8)


def broadcast(builder: ir.IRBuilder, entry: ir.Value, line: ir.VectorType) -> Any:
    """Return a vector of type ``line`` with the number in every lane."""
    undefined = ir.Constant(line, ir.Undefined)
    lanes = ir.Constant(ir.VectorType(ir.IntType(32), line.count), [0] * line.count)
    return builder.shuffle_vector(builder.insert_element(undefined, entry, lanes.type.element(0)), undefined, lanes)


def accumulate_dot(builder: ir.IRBuilder, total: ir.Value, x: ir.Value, z: ir.Value) -> Any:
    """Return ``total + x z``."""
    return builder.fadd(total, builder.fmul(x, z, flags=_FLAGS), flags=_FLAGS)


def accumulate_manhattan(builder: ir.IRBuilder, total: ir.Value, x: ir.Value, z: ir.Value) -> Any:
    """Return ``total + |x - z|``."""
    difference = builder.fsub(x, z, flags=_FLAGS)
    line = difference.type
    name = f"llvm.fabs.v{line.count}f{32 if line.element == ir.FloatType() else 64}"
    magnitude = cgutils.get_or_insert_function(builder.module, ir.FunctionType(line, [line]), name)
    return builder.fadd(total, builder.call(magnitude, [difference]), flags=_FLAGS)


def accumulate_chi_squared(builder: ir.IRBuilder, total: ir.Value, x: ir.Value, z: ir.Value) -> Any:
    """Return ``total + (x - z)^2 / (x + z)``, where ``x + z`` is not 0."""
    difference = builder.fsub(x, z, flags=_FLAGS)
    both = builder.fadd(x, z, flags=_FLAGS)
    ratio = builder.fdiv(builder.fmul(difference, difference, flags=_FLAGS), both, flags=_FLAGS)
    nothing = ir.Constant(both.type, [ir.Constant(both.type.element, 0.0)] * both.type.count)
    return builder.fadd(total, builder.select(builder.fcmp_ordered(">", both, nothing), ratio, nothing), flags=_FLAGS)


def _tile_codegen(accumulate: Any) -> Any:
    """Return the code generator of one tile: ``tile[:, at:at + width] = pairwise(rows[first:first + 6], cols[group])``.

    Rows past the last one are read as the last one, so every tile is whole; the caller ignores what they give.
    """

    def codegen(context: BaseContext, builder: ir.IRBuilder, signature: Signature, args: list[ir.Value]) -> Any:
        rows_type, _, cols_type, _, tile_type, _ = signature.args
        rows, cols, tile = (
            context.make_array(kind)(context, builder, value)
            for kind, value in zip((rows_type, cols_type, tile_type), (args[0], args[2], args[4]), strict=True)
        )
        first, group, at = args[1], args[3], args[5]
        index = first.type
        element = context.get_value_type(rows_type.dtype)
        item_bytes = rows_type.dtype.bitwidth // 8
        width = LINE_BYTES // item_bytes
        line = ir.VectorType(element, width)

        n_rows, n_features = builder.extract_value(rows.shape, 0), builder.extract_value(rows.shape, 1)
        tile_stride = builder.extract_value(tile.shape, 1)
        last = builder.sub(n_rows, index(1))
        packed = builder.gep(cols.data, [builder.mul(group, builder.mul(n_features, index(width)))])
        row_starts = []
        for r in range(TILE_ROWS):
            wanted = builder.add(first, index(r))
            row = builder.select(builder.icmp_signed("<", wanted, n_rows), wanted, last)
            row_starts.append(builder.gep(rows.data, [builder.mul(row, n_features)]))

        zero = ir.Constant(line, [ir.Constant(element, 0.0)] * width)
        sums = [cgutils.alloca_once_value(builder, zero) for _ in range(TILE_ROWS)]
        for total in sums:
            builder.store(zero, total)
        with cgutils.for_range(builder, n_features, intp=index) as loop:
            start = builder.gep(packed, [builder.mul(loop.index, index(width))])
            z = builder.load(builder.bitcast(start, line.as_pointer()), align=item_bytes)
            for row_start, total in zip(row_starts, sums, strict=True):
                x = broadcast(builder, builder.load(builder.gep(row_start, [loop.index])), line)
                builder.store(accumulate(builder, builder.load(total), x, z), total)
        for r, total in enumerate(sums):
            target = builder.gep(tile.data, [builder.add(builder.mul(index(r), tile_stride), at)])
            builder.store(builder.load(total), builder.bitcast(target, line.as_pointer()), align=item_bytes)
        return context.get_dummy_value()

    return codegen


def _tile_signature(rows: Any, cols: Any, tile: Any) -> Any:
    return types.void(rows, types.intp, cols, types.intp, tile, types.intp)


@intrinsic
def dot_tile(typingctx: Any, rows: Any, first: Any, cols: Any, group: Any, tile: Any, at: Any) -> Any:
    """Sums of ``x z``."""
    return _tile_signature(rows, cols, tile), _tile_codegen(accumulate_dot)


@intrinsic
def manhattan_tile(typingctx: Any, rows: Any, first: Any, cols: Any, group: Any, tile: Any, at: Any) -> Any:
    """Sums of ``|x - z|``."""
    return _tile_signature(rows, cols, tile), _tile_codegen(accumulate_manhattan)


@intrinsic
def chi_squared_tile(typingctx: Any, rows: Any, first: Any, cols: Any, group: Any, tile: Any, at: Any) -> Any:
    """Sums of ``(x - z)^2 / (x + z)``."""
    return _tile_signature(rows, cols, tile), _tile_codegen(accumulate_chi_squared)


@njit(cache=True, nogil=True)
def _compare_dot(rows: Any, row_norms: Any, first: Any, cols: Any, col_norms: Any, groups: Any, tile: Any) -> None:
    for g in range(groups.size):
        dot_tile(rows, first, cols, groups[g], tile, g * cols.shape[2])


@njit(cache=True, nogil=True)
def _compare_manhattan(
    rows: Any, row_norms: Any, first: Any, cols: Any, col_norms: Any, groups: Any, tile: Any
) -> None:
    for g in range(groups.size):
        manhattan_tile(rows, first, cols, groups[g], tile, g * cols.shape[2])


@njit(cache=True, nogil=True)
def _compare_chi_squared(
    rows: Any, row_norms: Any, first: Any, cols: Any, col_norms: Any, groups: Any, tile: Any
) -> None:
    for g in range(groups.size):
        chi_squared_tile(rows, first, cols, groups[g], tile, g * cols.shape[2])


@inlined(fastmath=FAST)
def distances_from_dots(line: Any, row_norm: Any, col_norms: Any, n_features: int) -> None:
    """``|x|^2 + |z|^2 - 2 <x, z>``; what rounding alone can explain is 0, so that a point's twin is at distance 0."""
    zero, two = line.dtype.type(0.0), line.dtype.type(2.0)
    rounding = line.dtype.type(4.0 + 2.0 * np.sqrt(n_features)) * line.dtype.type(
        SINGLE_EPS if line.itemsize == 4 else DOUBLE_EPS
    )
    for j in range(line.size):
        norms = row_norm + col_norms[j]
        squared = norms - two * line[j]
        line[j] = squared if squared > rounding * norms else zero


@njit(cache=True, nogil=True)
def _compare_squared_distance(
    rows: Any, row_norms: Any, first: Any, cols: Any, col_norms: Any, groups: Any, tile: Any
) -> None:
    for g in range(groups.size):
        dot_tile(rows, first, cols, groups[g], tile, g * cols.shape[2])
    for r in range(TILE_ROWS):
        norm = row_norms[min(first + r, rows.shape[0] - 1)]
        distances_from_dots(tile[r], norm, col_norms, rows.shape[1])


COMPARE = {
    Pairwise.DOT: _compare_dot,
    Pairwise.SQUARED_DISTANCE: _compare_squared_distance,
    Pairwise.MANHATTAN: _compare_manhattan,
    Pairwise.CHI_SQUARED: _compare_chi_squared,
}
