"""Which two points of a buffer are merged, or which one another one takes over: the pair that changes f least.

Each change of f is measured in the norm of the kernel's space. Which points to look at is a matter of cost: the row
that has just come in, the points with the smallest coefficients, and for each of these those most like it. Machines
count by how much they are trusted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .buffer import AVERAGE_REGRET, FACTOR, LABEL, REGRET, SCRATCH, part, split

N_CANDIDATES = 12
"""Points whose cheapest partner is looked for."""

N_PARTNERS = 5
"""Points, those most like it, that each of these may be merged with."""

LEAST_TRUST = 0.02
"""Weight of a machine, over that of the best, below which its coefficients do not count when points are compared."""

TINY = 1e-150


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
