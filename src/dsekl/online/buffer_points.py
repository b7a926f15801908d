"""Compiled steps on a buffer that all algorithms share: kernel values, sums, a point that comes in, one that goes.

No sum here may be reordered by the compiler, so that a row is learned from to the same bit whichever function it is
learned through, in the process that compiles as in those that load.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dsekl.kernels import Pairwise

from .buffer import RANDOM, SIZE, part, split
from .callbacks import call_profile

PAIRWISE = {Pairwise.SQUARED_DISTANCE: 0, Pairwise.DOT: 1, Pairwise.MANHATTAN: 2, Pairwise.CHI_SQUARED: 3}
"""What compiled code calls that which a kernel compares."""


@part()
def random_below(counts: Any, n: int) -> Any:
    """Return a random whole number from 0 to n - 1 (xorshift64*)."""
    x = counts[RANDOM]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    counts[RANDOM] = x
    high = (x * np.uint64(0x2545F4914F6CDD1D)) >> np.uint64(11)
    return min(n - 1, np.int64(np.float64(high) * 2.0**-53 * n))


@part()
def dot(a: Any, b: Any, n: int) -> Any:
    """Return the sum of products of the first ``n`` entries: eight sums side by side, which fit vector registers."""
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    whole = n - n % 8
    for j in range(0, whole, 8):
        s0 += a[j] * b[j]
        s1 += a[j + 1] * b[j + 1]
        s2 += a[j + 2] * b[j + 2]
        s3 += a[j + 3] * b[j + 3]
        s4 += a[j + 4] * b[j + 4]
        s5 += a[j + 5] * b[j + 5]
        s6 += a[j + 6] * b[j + 6]
        s7 += a[j + 7] * b[j + 7]
    for j in range(whole, n):
        s0 += a[j] * b[j]
    return ((s0 + s4) + (s1 + s5)) + ((s2 + s6) + (s3 + s7))


@part()
def add(out: Any, row: Any, n: int, times: float) -> None:
    """Add a multiple of a row to another one."""
    for j in range(n):
        out[j] += row[j] * times


@part()
def compare(points: Any, n: int, x: Any, pairwise: int, out: Any) -> None:
    """Put the pairwise values of a point ``x`` with the first ``n`` points into ``out``."""
    for j in range(n):
        out[j] = 0.0
    for k in range(x.size):
        column, value = points[k], x[k]
        if pairwise == 0:
            for j in range(n):
                out[j] += (column[j] - value) * (column[j] - value)
        elif pairwise == 1:
            for j in range(n):
                out[j] += column[j] * value
        elif pairwise == 2:
            for j in range(n):
                out[j] += abs(column[j] - value)
        else:
            for j in range(n):
                total = column[j] + value
                if total > 0.0:
                    out[j] += (column[j] - value) * (column[j] - value) / total


@part()
def kernel_row(points: Any, n: int, x: Any, pairwise: int, profile: int, params: Any, out: Any) -> None:
    """Put the kernel values of a point ``x`` with the first ``n`` points into ``out``."""
    if n > 0:
        compare(points, n, x, pairwise, out)
        call_profile(profile, out[:n].reshape(1, n), params)


@part()
def own_value(x: Any, pairwise: int, profile: int, params: Any) -> Any:
    """Return the kernel value of a point with itself."""
    value = np.zeros((1, 1))
    if pairwise == 1:
        for k in range(x.size):
            value[0, 0] += x[k] * x[k]
    call_profile(profile, value, params)
    return value[0, 0]


@part()
def remove(b: Any, n: int, i: int) -> None:
    """Take point i out of the buffer; the last one takes its place."""
    last = n - 1
    b.counts[SIZE] = last
    for k in range(b.points.shape[0]):
        b.points[k, i] = b.points[k, last]
    for k in range(b.lines.shape[0]):
        b.lines[k, i] = b.lines[k, last]
    for j in range(last):
        b.kernel[i, j] = b.kernel[last, j]
        b.kernel[j, i] = b.kernel[last, j]
    b.kernel[i, i] = b.kernel[last, last]


@part()
def forget(b: Any, n: int, i: int) -> None:
    """Take point i, and what it adds to f, out of the buffer."""
    coef, f = split(b)[:2]
    for g in range(coef.shape[0]):
        if coef[g, i] != 0.0:
            add(f[g], b.kernel[i], n, -coef[g, i])
    remove(b, n, i)
