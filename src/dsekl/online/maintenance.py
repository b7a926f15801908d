"""What happens to a buffer that is one point over its budget.

``"merge"``   two points of one label become the point between them that changes f least (Gaussian kernels).
``"absorb"``  a point goes, and the one most like it takes over its coefficients.
``"project"`` a point goes, and its neighbours take over its coefficients, as near to f as they can come.
``"random"``  a random point goes.
``"oldest"``  the point goes that came first.

Each change of f is measured in the norm of the kernel's space. Which points to look at is a matter of cost: the row
that has just come in, and the points with the smallest coefficients. Masses add: the point that is left stands for the
rows of both. Machines count by how much they are trusted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dsekl.compiled import njit
from dsekl.kernels.elementary import decay

from .buffer import ARRIVAL, AVERAGE_REGRET, FACTOR, LABEL, REGRET, SCRATCH, Buffer, part, split
from .buffer_points import add, compare, dot, forget, random_below, remove

N_CANDIDATES = 12
"""Points whose cheapest partner is looked for."""

N_PARTNERS = 5
"""Points, those most like it, that each of these may be merged with."""

N_NEIGHBOURS = 16
"""Points that take over the coefficients of one that is projected."""

LEAST_TRUST = 0.02
"""Weight of a machine, over that of the best, below which its coefficients do not count when points are compared."""

TINY = 1e-150
RIDGE = 1e-10


@part()
def least_regret(machines: Any) -> Any:
    """Return the recent losses of the best machine."""
    least = np.inf
    for m in range(machines.shape[1]):
        least = min(least, min(machines[REGRET, m], machines[AVERAGE_REGRET, m]))
    return least


@part()
def trust(b: Any, m: int) -> Any:
    """Return the weight of a machine, or of its average, in the prediction, that of the best being 1."""
    return np.exp(least_regret(b.machines) - min(b.machines[REGRET, m], b.machines[AVERAGE_REGRET, m]))


@part()
def weigh_machines(b: Any, out: Any) -> None:
    """Put what the squared coefficients of each machine count into ``out``: 0 for machines that are hardly trusted."""
    for m in range(out.size):
        trusted = trust(b, m)
        out[m] = trusted * b.machines[FACTOR, m] * b.machines[FACTOR, m] if trusted >= LEAST_TRUST else 0.0


@part()
def squared_sizes(b: Any, n: int, weights: Any, out: Any) -> None:
    """Put the squared norm of each point's coefficients into ``out``."""
    coef = split(b)[0]
    for j in range(n):
        out[j] = 0.0
    for m in range(weights.size):
        if weights[m] > 0.0:
            for g in range(m * b.outputs, (m + 1) * b.outputs):
                for j in range(n):
                    out[j] += weights[m] * (coef[g, j] * coef[g, j])


@part()
def product(b: Any, i: int, j: int, weights: Any) -> Any:
    """Return the product of the coefficients of two points."""
    coef, total = split(b)[0], 0.0
    for m in range(weights.size):
        if weights[m] > 0.0:
            for g in range(m * b.outputs, (m + 1) * b.outputs):
                total += weights[m] * (coef[g, i] * coef[g, j])
    return total


@part()
def share(own: float, other: float) -> Any:
    """Return how far the merged point is drawn to the first of two with squared sizes ``own`` and ``other``.

    Near points are best merged in the ratio of their coefficients, and far ones are not merged.
    """
    return np.sqrt(own) / (np.sqrt(own) + np.sqrt(other) + TINY)


@part()
def merging_cost(b: Any, i: int, j: int, size: Any, weights: Any) -> Any:
    """Return the squared change of f if two points are merged; their kernel value tells their distance."""
    k, h, both = b.kernel[i, j], share(size[i], size[j]), product(b, i, j, weights)
    near, far = k ** ((1.0 - h) * (1.0 - h)), k ** (h * h)
    kept = near * near * size[i] + 2.0 * near * far * both + far * far * size[j]
    return size[i] + size[j] + 2.0 * k * both - kept


@part()
def absorbing_cost(b: Any, i: int, j: int, size: Any) -> Any:
    """Return the squared change of f if point j takes over the coefficients of point i."""
    k = b.kernel[i, j]
    return size[i] * (b.kernel[i, i] - k * k / max(b.kernel[j, j], TINY))


@part()
def unlikeness(b: Any, n: int, i: int, merging: bool, out: Any) -> None:
    """Put how far each point is from being like point i into ``out``; infinity for those of other labels."""
    label, row = split(b)[5][LABEL], b.kernel[i]
    own = label[i]
    for j in range(n):
        out[j] = -row[j] if label[j] == own else np.inf
    if not merging:
        for j in range(n):
            out[j] = -abs(out[j]) / np.sqrt(max(b.kernel[j, j], TINY)) if label[j] == own else np.inf
    out[i] = np.inf


@part()
def smallest(values: Any, n: int, places: Any) -> Any:
    """Put the places of the smallest finite values into ``places``, in their order; return how many there are."""
    found = 0
    for j in range(n):
        value = values[j]
        if value == np.inf or (found == places.size and value >= values[places[found - 1]]):
            continue
        place = min(found, places.size - 1)
        while place > 0 and values[places[place - 1]] > value:
            places[place] = places[place - 1]
            place -= 1
        places[place] = j
        found = min(places.size, found + 1)
    return found


@part()
def cheapest_pair(b: Any, n: int, merging: bool) -> Any:
    """Return the point that goes and the one that stays; -1 for the latter where no two points have one label."""
    rest = split(b)[5]
    size, unlike, weights = rest[SCRATCH + 1], rest[SCRATCH + 2], np.empty(b.machines.shape[1])
    weigh_machines(b, weights)
    squared_sizes(b, n, weights, size)
    candidates, partners = np.empty(N_CANDIDATES, dtype=np.int64), np.empty(N_PARTNERS, dtype=np.int64)
    candidates[0] = n - 1
    found = 1 + smallest(size, n, candidates[1:])
    best, goes, stays = np.inf, candidates[1] if found > 1 else 0, -1
    for i in candidates[:found]:
        unlikeness(b, n, i, merging, unlike)
        for j in partners[: smallest(unlike, n, partners if merging else partners[:1])]:
            cost = merging_cost(b, i, j, size, weights) if merging else absorbing_cost(b, i, j, size)
            if cost < best:
                best, goes, stays = cost, i, j
    return goes, stays


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
