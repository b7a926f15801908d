"""BLAS with one thread, for as long as anybody here needs it.

BLAS with several threads cuts its sums elsewhere than with one, so that the last bits of a Cholesky factor depend on
the number of cores. The threads of this library work on parts that are the same on every machine, and BLAS has one
thread within each.

The number of BLAS threads belongs to the whole process, so fits at the same time are counted: the first one notes what
it finds, and the last one to end puts it back.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from threading import Lock
from typing import Any

import scipy.linalg  # noqa: F401  has a BLAS of its own, which must be loaded before libraries are listed
from threadpoolctl import ThreadpoolController


@dataclass(frozen=True)
class _Library:
    """A BLAS: how to ask and how to set its number of threads."""

    get: Callable[[], int]
    set: Callable[[int], object]

    @staticmethod
    def of(found: Any) -> _Library:
        """Return a library that threadpoolctl has found.

        Newer versions of threadpoolctl let one thread alone change an OpenBLAS, and ignore what others ask for; but
        the fit that ends last may be in any thread. So OpenBLAS, whose setting is the process's, is asked directly.
        """
        if found.internal_api == "openblas" and found.threading_layer != "openmp":
            library = ctypes.CDLL(found.filepath)
            for prefix, suffix in product(("", "scipy_"), ("", "64_", "_64")):
                name = f"{prefix}openblas_%s_num_threads{suffix}"
                if hasattr(library, name % "set"):
                    return _Library(getattr(library, name % "get"), getattr(library, name % "set"))
        return _Library(found.get_num_threads, found.set_num_threads)


class _OneThread:
    """How many need BLAS with one thread, and what it had before."""

    def __init__(self) -> None:
        found = ThreadpoolController().select(user_api="blas").lib_controllers
        self._libraries = [_Library.of(library) for library in found]
        self._lock = Lock()
        self._count = 0
        self._before: list[int] = []

    def enter(self) -> None:
        with self._lock:
            if self._count == 0:
                self._before = [library.get() for library in self._libraries]
                for library in self._libraries:
                    library.set(1)
            self._count += 1

    def leave(self) -> None:
        with self._lock:
            self._count -= 1
            if self._count == 0:
                self._restore()

    def forget(self) -> None:
        """Start afresh: in a forked process, where those who entered are not there to leave."""
        self._lock = Lock()
        if self._count > 0:
            self._count = 0
            self._restore()

    def _restore(self) -> None:
        for library, threads in zip(self._libraries, self._before, strict=True):
            library.set(threads)


_one_thread = _OneThread()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_one_thread.forget)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Give BLAS one thread within the block; also a decorator, ``@one_blas_thread()``."""
    _one_thread.enter()
    try:
        yield
    finally:
        _one_thread.leave()
