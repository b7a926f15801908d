"""Numba's types and compiled functions, and compiled functions as arguments of compiled functions.

The products take the pairwise comparison and the kernel's profile as function pointers. So there is one
compiled product per number type, whatever the kernel, and Numba's disk cache holds all of it.

The cache saves time and is no condition: where it cannot be written or read, functions are compiled in each process.
Numba's key for it knows the text of one file. Ours knows all that becomes part of the machine code: the functions that
are called, and the constants that they read, from whichever file.

Numba takes such an argument by way of Python code. An exception that a signal's handler raises there is lost, and
another error raised in its place; so signals wait until the call is over.
"""

from __future__ import annotations

import hashlib
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, lru_cache, partial
from threading import Lock, current_thread, main_thread
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import numba
import numpy as np
from numba import float32, float64, intp, types, void
from numba.core import event
from numba.core.caching import FunctionCache
from numba.core.dispatcher import Dispatcher
from numba.core.extending import _Intrinsic
from numba.core.types import WrapperAddressProtocol
from numba.extending import typeof_impl

if numba.config.DISABLE_JIT:
    raise ImportError("dsekl is compiled by Numba, and NUMBA_DISABLE_JIT is set; unset it")

NUMBER = {"float32": float32, "float64": float64}

inlined = partial(numba.njit, nogil=True, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""Compile a part of other compiled functions, which becomes part of their machine code.

Left to itself, LLVM keeps a copy of such a part for each function that calls it and another one in the cache, each
optimised for where it stands. Sums that may be reordered then round differently in the process that compiles and in
those that load, and one question has two models.
"""

_compiling = Lock()


@cache
def _warn_of_no_cache() -> None:
    """Warn, once in a process."""
    warnings.warn(
        "Numba's cache cannot be written, so functions are compiled anew in this process, which takes some seconds; "
        "set NUMBA_CACHE_DIR to a folder that can be written, with room in it",
        UserWarning,
        stacklevel=3,
    )


class _Compilations(event.Listener):
    """Counts compilations under way in one thread, and tells of the first and the last of those that nest."""

    def __init__(self, tell: Callable[[bool], None]) -> None:
        self._tell, self._depth, self._thread = tell, 0, threading.get_ident()

    def on_start(self, event: Any) -> None:
        self._count(1)

    def on_end(self, event: Any) -> None:
        self._count(-1)

    def _count(self, change: int) -> None:
        if threading.get_ident() == self._thread:
            self._depth += change
            if self._depth == max(0, change):
                self._tell(change > 0)


@contextmanager
def told_of_compiling(tell: Callable[[bool], None]) -> Iterator[None]:
    """Call ``tell(True)`` when this thread begins to compile within the block, and ``tell(False)`` when it has."""
    with event.install_listener("numba:compile", _Compilations(tell)):
        yield


def ingredients(function: FunctionType) -> str:
    """Return a hash of a function's code, of all that it calls and of the constants that they read."""
    told: list[str] = []
    _tell(function, told, set())
    return hashlib.sha256("\n".join(told).encode()).hexdigest()


def _tell(thing: Any, told: list[str], known: set[int]) -> None:
    """Write down what becomes part of the machine code of those who name ``thing``."""
    if isinstance(thing, Dispatcher):
        told += [f"{name} {_told(value)}" for name, value in sorted(thing.targetoptions.items())]
        thing = thing.py_func
    if isinstance(thing, _Intrinsic):
        thing = thing._defn
    if isinstance(thing, tuple):
        for part in thing:
            _tell(part, told, known)
    if not isinstance(thing, FunctionType):
        told.append(_told(thing))
        return
    if id(thing) in known:
        return
    known.add(id(thing))
    names = _tell_code(thing.__code__, told)
    modules = [value for name in names if isinstance(value := thing.__globals__.get(name), ModuleType)]
    ours = [module for module in modules if module.__name__.split(".")[0] == thing.__module__.split(".")[0]]
    for place in (thing.__globals__, *map(vars, ours)):
        for name in names:
            if name in place and not isinstance(place[name], ModuleType):
                told.append(name)
                _tell(place[name], told, known)
    for cell in thing.__closure__ or ():
        _tell(cell.cell_contents, told, known)


def _told(thing: Any) -> str:
    """Return the text of a constant; of other things a name.

    Addresses of things, and the order of a set, are those of one process.
    """
    if isinstance(thing, set | frozenset):
        return repr(sorted(map(_told, thing)))
    if thing is None or isinstance(thing, int | float | complex | str | bytes):
        return repr(thing)
    if isinstance(thing, np.ndarray | np.generic):
        return f"{thing.dtype} {thing.shape} {thing.tobytes().hex()}"
    return f"{getattr(thing, '__qualname__', type(thing).__qualname__)} {getattr(thing, '_fields', ())}"


def _tell_code(code: CodeType, told: list[str]) -> list[str]:
    """Write down bytecode and constants; return the names of all that is neither local nor constant."""
    told.append(code.co_code.hex())
    names = list(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names += _tell_code(constant, told)
        else:
            told.append(_told(constant) if isinstance(constant, frozenset) else repr(constant))
    return sorted(set(names))


class OptionalCache(FunctionCache):
    """Numba's disk cache of a function, without which things are slower and nothing else."""

    def _index_key(self, signature: Any, codegen: Any) -> Any:
        """Return the key of a compiled version: Numba's, and all that was made part of it."""
        return (*super()._index_key(signature, codegen), ingredients(self._py_func))

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return a compiled version; None if there is none, or if a crash or a power cut has damaged its file."""
        try:
            return super().load_overload(signature, target_context)
        except Exception:  # what damaged bytes raise when they are unpickled is not foreseeable
            with suppress(OSError):
                self.flush()  # or the damaged index would be read again by all processes to come
            return None

    def save_overload(self, signature: Any, data: Any) -> None:
        """Keep a compiled version if there is room for it."""
        try:
            super().save_overload(signature, data)
        except Exception:  # a full disk, or a damaged index that could not be replaced
            _warn_of_no_cache()


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return Numba's decorator of the same name; ``cache=True`` makes use of the disk cache where that is possible."""
    cached = options.pop("cache", False)

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher = numba.njit(**options)(function)
        if cached:
            try:
                dispatcher._cache = OptionalCache(function)
            except RuntimeError:  # Numba found no folder that it can write to
                _warn_of_no_cache()
        return dispatcher

    return decorate


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
        self.type = types.FunctionType(signature)
        # The compile result owns the machine code, so it must live as long as the address.
        self._compiled = function.get_compile_result(signature)
        self._address = self._compiled.library.get_pointer_to_function(self._compiled.fndesc.llvm_cfunc_wrapper_name)

    def __wrapper_address__(self) -> int:
        return int(self._address)

    def signature(self) -> Any:
        return self._signature


@typeof_impl.register(FunctionPointer)
def _type_of(function: FunctionPointer, context: Any) -> Any:
    """Tell Numba the type of a pointer, which it would make anew at each call: that takes longer than a small block."""
    return function.type


@lru_cache(maxsize=256)
def _pointer(function: Any, signature: Any) -> FunctionPointer:
    return FunctionPointer(function, signature)


def pointer(function: Any, signature: Any) -> FunctionPointer:
    """Return the pointer to ``function`` compiled for ``signature``, compiling it at the first call."""
    with _compiling:
        return _pointer(function, signature)


def compiled(function: Any, signature: Any) -> Callable[..., Any]:
    """Return ``function``, compiled for exactly ``signature``, as a call during which signals wait."""
    with _compiling:
        if signature.args not in function.overloads:
            function.compile(signature)
    return partial(_undisturbed, function)


SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals whose handlers raise exceptions: Ctrl-C, and what asks a command to end."""


def _undisturbed(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return ``function(*arguments)``; handlers of signals that come meanwhile are called afterwards.

    They run in the main thread alone, so there is nothing to do in others.
    """
    call = partial(function, *arguments)
    if current_thread() is main_thread():
        for number in SIGNALS:
            handler = signal.getsignal(number)
            if callable(handler):
                call = partial(_without, number, handler, call)
    return call()


def _without(number: int, handler: Callable[[int, FrameType | None], Any], call: Callable[[], Any]) -> Any:
    """Return ``call()``; a signal of this number waits for its end, and is then told to its handler once."""
    came: list[FrameType | None] = []
    try:
        signal.signal(number, lambda _, frame: came.append(frame))
        return call()
    finally:
        signal.signal(number, handler)
        if came:
            handler(number, came[-1])
