"""Elementary functions that LLVM can vectorise.

``math.exp`` inside a Numba loop is a call to the C library, one number at a time. The versions here are
plain arithmetic, so a loop over a tile becomes SIMD code: range reduction to ``|r| <= ln(2) / 2``, a Taylor
polynomial long enough for the type's precision, and the power of two put back through the exponent bits.
"""

from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.base import BaseContext
from numba.core.typing import Signature
from numba.extending import intrinsic, overload

FAST = {"contract", "reassoc", "nsz", "arcp"}
"""LLVM's licence to fuse and reorder sums; NaN and infinity keep their meaning."""

LOG2_E = 1.4426950408889634
LN2_HIGH = 0.693359375
LN2_LOW = -2.12194440054690583e-4
_TAYLOR = tuple(1.0 / factorial(n) for n in range(14))
(T2, T3, T4, T5, T6, T7, T8, T9, T10, T11, T12, T13) = _TAYLOR[2:]


@intrinsic
def _nearest(typingctx: Any, x: Any) -> Any:
    """Return the whole number nearest to ``x``, as a float: one instruction, where ``round`` is a call."""

    def codegen(context: BaseContext, builder: ir.IRBuilder, signature: Signature, args: list[ir.Value]) -> Any:
        return builder.call(builder.module.declare_intrinsic("llvm.rint", [args[0].type]), args)

    return x(x), codegen


@intrinsic
def _two_to_the(typingctx: Any, exponent: Any) -> Any:
    """Return ``2.0 ** exponent`` for a whole number held in a float, by writing the exponent bits."""
    single = exponent == types.float32
    integer, mantissa_bits, bias = (ir.IntType(32), 23, 127) if single else (ir.IntType(64), 52, 1023)

    def codegen(context: BaseContext, builder: ir.IRBuilder, signature: Signature, args: list[ir.Value]) -> Any:
        shifted = builder.add(builder.fptosi(args[0], integer), integer(bias))
        return builder.bitcast(builder.shl(shifted, integer(mantissa_bits)), args[0].type)

    return exponent(exponent), codegen


def _decay_single(s: Any) -> Any:
    x = max(-s, np.float32(-87.0))
    n = _nearest(x * np.float32(LOG2_E))
    r = x - n * np.float32(LN2_HIGH) - n * np.float32(LN2_LOW)
    p = np.float32(T7)
    p = p * r + np.float32(T6)
    p = p * r + np.float32(T5)
    p = p * r + np.float32(T4)
    p = p * r + np.float32(T3)
    p = p * r + np.float32(T2)
    p = p * r * r + r + np.float32(1.0)
    return p * _two_to_the(n)


def _decay_double(s: Any) -> Any:
    x = max(-s, -708.0)
    n = _nearest(x * LOG2_E)
    r = x - n * LN2_HIGH - n * LN2_LOW
    p = T13
    p = p * r + T12
    p = p * r + T11
    p = p * r + T10
    p = p * r + T9
    p = p * r + T8
    p = p * r + T7
    p = p * r + T6
    p = p * r + T5
    p = p * r + T4
    p = p * r + T3
    p = p * r + T2
    p = p * r * r + r + 1.0
    return p * _two_to_the(n)


def decay(s: Any) -> Any:
    """Return ``exp(-s)`` for ``s >= 0``; callable from compiled code only."""
    raise NotImplementedError("decay() runs inside Numba-compiled code; in Python use math.exp(-s)")


@overload(decay, jit_options={"fastmath": FAST, "forceinline": True})
def _decay(s: Any) -> Any:
    return _decay_single if s == types.float32 else _decay_double
