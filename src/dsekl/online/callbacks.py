"""Functions that compiled code calls by their address: the kernel's profile, the loss's step, what shrinks a buffer.

An address is a plain number. An argument that is a ``FunctionPointer`` is looked up in Python whenever a function that
takes it is called, which for a single row takes as long as the work on it.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import float64, types, uint64
from numba.extending import intrinsic

from dsekl.compiled import FunctionPointer, matrix, profile_signature, vector

STEP = float64(float64, float64, float64, float64, float64, float64)
"""``dual_step`` of a loss."""

SHRINK = types.void(*[matrix(float64)] * 4, vector(uint64), types.intp)
"""What takes a buffer back to one point less; the arguments are the parts of the buffer."""


def address_of(function: FunctionPointer) -> int:
    """Return the address; whoever calls it keeps ``function``, which owns the machine code."""
    return function.__wrapper_address__()


def _calling(signature: Any, address: Any, *arguments: Any) -> Any:
    """Return type and code of a call of what is at an address."""

    def generate(context: Any, builder: Any, own: Any, values: Any) -> Any:
        kinds = [context.get_value_type(kind) for kind in signature.args]
        function = ir.FunctionType(context.get_value_type(signature.return_type), kinds)
        given = [
            context.cast(builder, value, kind, wanted)
            for value, kind, wanted in zip(values[1:], own.args[1:], signature.args, strict=True)
        ]
        return builder.call(builder.inttoptr(values[0], function.as_pointer()), given)

    return signature.return_type(address, *arguments), generate


@intrinsic
def call_profile(context: Any, address: Any, tile: Any, params: Any) -> Any:
    """Turn pairwise values into kernel values, in place."""
    return _calling(profile_signature(tile.dtype.name), address, tile, params)


@intrinsic
def call_step(context: Any, address: Any, y: Any, coef: Any, f: Any, diagonal: Any, bound: Any, shape: Any) -> Any:
    """Return the coefficient after the exact dual step of a loss."""
    return _calling(STEP, address, y, coef, f, diagonal, bound, shape)


@intrinsic
def call_shrink(context: Any, address: Any, points: Any, kernel: Any, lines: Any, machines: Any, counts: Any,
                outputs: Any) -> Any:  # fmt: skip
    """Take a buffer back to one point less."""
    return _calling(SHRINK, address, points, kernel, lines, machines, counts, outputs)
