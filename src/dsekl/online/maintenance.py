"""What happens to a buffer that is one point over its budget.

``"merge"``   two points of one label become the point between them that changes f least (Gaussian kernels).
``"absorb"``  a point goes, and the one most like it takes over its coefficients.
``"project"`` a point goes, and its neighbours take over its coefficients, as near to f as they can come.
``"random"``  a random point goes.
``"oldest"``  the point goes that came first.

``pairs`` finds the two points. Masses add: the point that is left stands for the rows of both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dsekl.compiled import njit
from dsekl.kernels.elementary import decay

from .buffer import ARRIVAL, SCRATCH, Buffer, part, split
from .buffer_points import add, compare, dot, forget, random_below, remove
from .pairs import TINY, cheapest_pair, share

N_NEIGHBOURS = 16
"""Points that take over the coefficients of one that is projected."""

RIDGE = 1e-10


@part()
def stand_for_both(b: Any, i: int, j: int) -> None:
    """Let point j stand for the rows of point i as well."""
    _, _, _, targets, mass, rest, beside = split(b)
    total = mass[0, i] + mass[0, j]
    for o in range(targets.shape[0]):
        if total > 0.0:
            targets[o, j] = (mass[0, i] * targets[o, i] + mass[0, j] * targets[o, j]) / total
            beside[o, j] = (mass[0, i] * beside[o, i] + mass[0, j] * beside[o, j]) / total
    for m in range(mass.shape[0]):
        mass[m, j] += mass[m, i]
    rest[ARRIVAL, j] = max(rest[ARRIVAL, i], rest[ARRIVAL, j])


@part()
def merge(b: Any, n: int, i: int, j: int) -> None:
    """Make one point of i and j, in the place of j."""
    coef, f, average, _, _, rest, _ = split(b)
    size, row, before = rest[SCRATCH + 1], rest[SCRATCH + 2], rest[SCRATCH + 3]
    h = share(size[i], size[j])
    distance = 0.0
    for k in range(b.points.shape[0]):
        own, other = b.points[k, i], b.points[k, j]
        distance += (own - other) * (own - other)
        b.points[k, j] = h * own + (1.0 - h) * other
    near, far = decay((1.0 - h) * (1.0 - h) * distance), decay(h * h * distance)
    compare(b.points, n, b.points[:, j], 0, row)
    for k in range(n):
        row[k] = decay(row[k])
        before[k] = b.kernel[j, k]
    for g in range(coef.shape[0]):
        new = near * coef[g, i] + far * coef[g, j]
        add(f[g], row, n, new)
        add(f[g], b.kernel[i], n, -coef[g, i])
        add(f[g], before, n, -coef[g, j])
        coef[g, j] = new
        average[g, j] = near * average[g, i] + far * average[g, j]
    stand_for_both(b, i, j)
    for k in range(n):
        b.kernel[j, k] = row[k]
        b.kernel[k, j] = row[k]
    remove(b, n, i)
    place = i if j == n - 1 else j
    for g in range(coef.shape[0]):
        f[g, place] = dot(b.kernel[place], coef[g], n - 1)


@part()
def absorb(b: Any, n: int, i: int, j: int, times: float) -> None:
    """Let point j have ``times`` the coefficients of point i, beside its own."""
    coef, f, average = split(b)[:3]
    for g in range(coef.shape[0]):
        coef[g, j] += times * coef[g, i]
        average[g, j] += times * average[g, i]
        add(f[g], b.kernel[j], n, times * coef[g, i])


@part()
def project(b: Any, n: int, i: int) -> None:
    """Share the coefficients of point i among its nearest neighbours: least squares in the kernel's space."""
    near = np.empty(min(N_NEIGHBOURS, n - 1), dtype=np.int64)
    taken = split(b)[5][SCRATCH + 3]
    for j in range(n):
        taken[j] = 1.0 if j == i else 0.0
    for m in range(near.size):
        best = -1
        for j in range(n):
            if taken[j] == 0.0 and (best < 0 or abs(b.kernel[i, j]) > abs(b.kernel[i, best])):
                best = j
        near[m] = best
        taken[best] = 1.0
    K, shares = np.empty((near.size, near.size)), np.empty(near.size)
    for m in range(near.size):
        shares[m] = b.kernel[i, near[m]]
        for k in range(near.size):
            K[m, k] = b.kernel[near[m], near[k]]
    solve(K, shares)
    for m in range(near.size):
        absorb(b, n, i, near[m], shares[m])


@part()
def solve(K: Any, x: Any) -> None:
    """Solve ``K z = x`` by Cholesky's factors, in place of x; a trace of a ridge keeps a singular K in reach."""
    m = x.size
    for j in range(m):
        K[j, j] += RIDGE * max(K[j, j], TINY)
        for k in range(j):
            K[j, j] -= K[j, k] * K[j, k]
        K[j, j] = np.sqrt(max(K[j, j], RIDGE))
        for i in range(j + 1, m):
            for k in range(j):
                K[i, j] -= K[i, k] * K[j, k]
            K[i, j] /= K[j, j]
    for i in range(m):
        for k in range(i):
            x[i] -= K[i, k] * x[k]
        x[i] /= K[i, i]
    for i in range(m - 1, -1, -1):
        for k in range(i + 1, m):
            x[i] -= K[k, i] * x[k]
        x[i] /= K[i, i]


@njit(cache=True, nogil=True, error_model="numpy")
def merging(points: Any, kernel: Any, lines: Any, machines: Any, counts: Any, outputs: int) -> None:
    b, n = Buffer(points, kernel, lines, machines, counts, outputs), kernel.shape[0]
    goes, stays = cheapest_pair(b, n, True)
    if stays < 0:
        forget(b, n, goes)
    else:
        merge(b, n, goes, stays)


@njit(cache=True, nogil=True, error_model="numpy")
def absorbing(points: Any, kernel: Any, lines: Any, machines: Any, counts: Any, outputs: int) -> None:
    b, n = Buffer(points, kernel, lines, machines, counts, outputs), kernel.shape[0]
    goes, stays = cheapest_pair(b, n, False)
    if stays >= 0:
        absorb(b, n, goes, stays, kernel[goes, stays] / max(kernel[stays, stays], TINY))
        stand_for_both(b, goes, stays)
    forget(b, n, goes)


@njit(cache=True, nogil=True, error_model="numpy")
def projecting(points: Any, kernel: Any, lines: Any, machines: Any, counts: Any, outputs: int) -> None:
    b, n = Buffer(points, kernel, lines, machines, counts, outputs), kernel.shape[0]
    goes, stays = cheapest_pair(b, n, False)
    project(b, n, goes)
    if stays >= 0:
        stand_for_both(b, goes, stays)
    forget(b, n, goes)


@njit(cache=True, nogil=True, error_model="numpy")
def removing_random(points: Any, kernel: Any, lines: Any, machines: Any, counts: Any, outputs: int) -> None:
    b, n = Buffer(points, kernel, lines, machines, counts, outputs), kernel.shape[0]
    forget(b, n, random_below(counts, n))


@njit(cache=True, nogil=True, error_model="numpy")
def removing_oldest(points: Any, kernel: Any, lines: Any, machines: Any, counts: Any, outputs: int) -> None:
    b, n = Buffer(points, kernel, lines, machines, counts, outputs), kernel.shape[0]
    arrival, oldest = split(b)[5][ARRIVAL], 0
    for j in range(n):
        if arrival[j] < arrival[oldest]:
            oldest = j
    forget(b, n, oldest)


WAYS = {
    "merge": merging,
    "absorb": absorbing,
    "project": projecting,
    "random": removing_random,
    "oldest": removing_oldest,
}
"""The compiled functions that take a buffer back to one point less."""
