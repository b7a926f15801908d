"""Numba's types and compiled functions, and compiled functions as arguments of compiled functions.

The products take the pairwise comparison and the kernel's profile as function pointers. So there is one
compiled product per number type, whatever the kernel, and Numba's disk cache holds all of it.
"""

from __future__ import annotations

from functools import lru_cache, partial
from threading import Lock
from typing import Any

from numba import float32, float64, intp, njit, types, void
from numba.core.types import WrapperAddressProtocol

NUMBER = {"float32": float32, "float64": float64}

inlined = partial(njit, nogil=True, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""Compile a part of other compiled functions, which becomes part of their machine code.

Left to itself, LLVM keeps a copy of such a part for each function that calls it and another one in the cache, each
optimised for where it stands. Sums that may be reordered then round differently in the process that compiles and in
those that load, and one question has two models.
"""

_compiling = Lock()


def vector(number: Any) -> Any:
    """Return Numba's type of a contiguous array with one axis."""
    return types.Array(number, 1, "C")


def matrix(number: Any) -> Any:
    """Return Numba's type of a contiguous array with two axes."""
    return types.Array(number, 2, "C")


def cube(number: Any) -> Any:
    """Return Numba's type of a contiguous array with three axes."""
    return types.Array(number, 3, "C")


@lru_cache(maxsize=2)
def profile_signature(dtype: str) -> Any:
    """``profile(tile, params)``."""
    return void(matrix(NUMBER[dtype]), vector(float64))


@lru_cache(maxsize=2)
def comparison_signature(dtype: str) -> Any:
    """``compare(rows, row_norms, first, cols, col_norms, groups, tile)``."""
    number = NUMBER[dtype]
    return void(matrix(number), vector(number), intp, cube(number), vector(number), vector(intp), matrix(number))


class FunctionPointer(WrapperAddressProtocol):
    """The address of one compiled version of a Numba function, typed so that compiled code can call it."""

    def __init__(self, function: Any, signature: Any) -> None:
        self._signature = signature
        # The compile result owns the machine code, so it must live as long as the address.
        self._compiled = function.get_compile_result(signature)
        self._address = self._compiled.library.get_pointer_to_function(self._compiled.fndesc.llvm_cfunc_wrapper_name)

    def __wrapper_address__(self) -> int:
        return int(self._address)

    def signature(self) -> Any:
        return self._signature


@lru_cache(maxsize=256)
def _pointer(function: Any, signature: Any) -> FunctionPointer:
    return FunctionPointer(function, signature)


def pointer(function: Any, signature: Any) -> FunctionPointer:
    """Return the pointer to ``function`` compiled for ``signature``, compiling it at the first call."""
    with _compiling:
        return _pointer(function, signature)


def compiled(function: Any, signature: Any) -> Any:
    """Return ``function`` with exactly ``signature`` among its compiled versions."""
    with _compiling:
        if signature.args not in function.overloads:
            function.compile(signature)
    return function
