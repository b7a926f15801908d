"""An order of the points in which neighbours in space are neighbours in memory.

A kd-tree is built in place: a node is cut across the column in which its points vary most, near the median, and its
two sides follow each other. A cut never parts equal values: on a column of zeros and ones, such as one-hot codes, it
falls between the two. Nodes end as leaves of at most 96 points. The tree itself is not kept: the order and the number
of each point's leaf are all that pruning needs.

Points of either number type are looked at in float32: an order needs no more, and one compiled tree serves both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dsekl.compiled import inlined, njit
from dsekl.workers import ALONE, Workers

LEAF = 96
SAMPLE = 512
"""Points of a node that choose its column and its median."""

PARALLEL_NODE = 20_000
"""Nodes above this size are cut one level at a time, each level's in parallel."""


@inlined()
def _widest_column(points: Any, order: Any, stride: int) -> int:
    n_features = points.shape[1]
    count = 0
    total, square = np.zeros(n_features), np.zeros(n_features)
    for i in range(0, order.size, stride):
        count += 1
        for k in range(n_features):
            value = float(points[order[i], k]) - float(points[order[0], k])
            total[k] += value
            square[k] += value * value
    widest, most = 0, -1.0
    for k in range(n_features):
        spread = square[k] - total[k] * total[k] / count
        if spread > most:
            widest, most = k, spread
    return widest


@inlined()
def _select(values: Any, k: int) -> Any:
    """Return the k-th smallest of the values, which are left with no larger ones before it and no smaller ones behind.

    It is Hoare's selection.
    """
    first, last = 0, values.size - 1
    while first < last:
        pivot = values[(first + last) // 2]
        i, j = first, last
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if k <= j:
            last = j
        elif k >= i:
            first = i
        else:
            break
    return values[k]


@inlined()
def _median(values: Any) -> float:
    """Return the median; the order of the values changes."""
    middle = values.size // 2
    above = _select(values, middle)
    if values.size % 2 == 1:
        return float(above)
    below = values[0]
    for i in range(1, middle):
        below = max(below, values[i])
    return float(below + above) / 2


@njit(cache=True, nogil=True)
def _choose(points: Any, order: Any, stride: int) -> Any:
    """Return the column in which a node varies most, and its median there, from every ``stride``-th of its points."""
    column = _widest_column(points, order, stride)
    sample = np.empty((order.size + stride - 1) // stride, dtype=points.dtype)
    for i in range(sample.size):
        sample[i] = points[order[i * stride], column]
    return column, _median(sample)


@njit(cache=True, nogil=True)
def divide(values: Any, median: float, order: Any, scratch: Any) -> int:
    """Arrange a node as its low side and its high side, by its values in one column; return where they meet."""
    n = order.size
    below, level = 0, 0
    for i in range(n):
        below += values[i] < median
        level += values[i] == median
    # Equal values stay together, on the side that keeps the halves more even.
    with_level = abs(n - 2 * (below + level)) < abs(n - 2 * below)
    size = below + level if with_level else below
    if size == 0 or size == n:
        return int(n // 2)
    low, high = 0, size
    for i in range(n):
        if values[i] < median or (with_level and values[i] == median):
            scratch[low] = order[i]
            low += 1
        else:
            scratch[high] = order[i]
            high += 1
    for i in range(n):
        order[i] = scratch[i]
    return size


@njit(cache=True, nogil=True)
def _cut(points: Any, order: Any, scratch: Any) -> int:
    """Arrange one node as its low side and its high side; return where they meet."""
    column, median = _choose(points, order, max(1, order.size // SAMPLE))
    values = np.empty(order.size, dtype=points.dtype)
    for i in range(order.size):
        values[i] = points[order[i], column]
    return int(divide(values, median, order, scratch))


@njit(cache=True, nogil=True)
def arrange(points: Any, order: Any, starts_leaf: Any, scratch: Any) -> None:
    """Arrange a whole subtree and mark where its leaves start."""
    stack = [(0, order.size)]
    while len(stack) > 0:
        start, stop = stack.pop()
        if start == stop:
            continue
        if stop - start <= LEAF:
            starts_leaf[start] = True
        else:
            middle = start + _cut(points, order[start:stop], scratch[start:stop])
            stack.append((start, middle))
            stack.append((middle, stop))


def spatial_order(points: NDArray[Any], workers: Workers = ALONE) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Return the order of the rows of ``points`` along the tree, and the leaf of each place in that order."""
    n, points = len(points), points.astype(np.float32, copy=False)
    order, scratch = np.arange(n, dtype=np.intp), np.empty(n, dtype=np.intp)
    starts_leaf = np.zeros(n, dtype=np.bool_)
    whole = slice(0, n)
    large, small = ([whole], []) if n > PARALLEL_NODE else ([], [whole])
    while large:
        cuts = workers.map(lambda node: _cut(points, order[node], scratch[node]), large)
        halves = [
            half
            for node, cut in zip(large, cuts, strict=True)
            for half in (slice(node.start, node.start + cut), slice(node.start + cut, node.stop))
        ]
        large = [node for node in halves if node.stop - node.start > PARALLEL_NODE]
        small += [node for node in halves if node.stop - node.start <= PARALLEL_NODE]
    workers.map(lambda node: arrange(points, order[node], starts_leaf[node], scratch[node]), small)
    return order, np.cumsum(starts_leaf) - 1


def where_to_cut(order: NDArray[np.intp], points: Callable[[NDArray[np.intp]], NDArray[Any]]) -> tuple[int, float]:
    """Return the column and the median at which ``_cut`` would cut a node whose ``points`` have to be fetched."""
    sample = points(order[:: max(1, len(order) // SAMPLE)]).astype(np.float32, copy=False)
    column, median = _choose(sample, np.arange(len(sample), dtype=np.intp), 1)
    return int(column), float(median)


class Points(Protocol):
    """What a tree is cut from: an array, or rows that are made when they are asked for."""

    def __len__(self) -> int: ...

    def __getitem__(self, wanted: Any, /) -> NDArray[Any]:
        """Return ``points[rows]``, or with ``points[rows, column]`` their entries in one column."""


def random_subtrees(points: Points, size: int, count: int, rng: np.random.Generator) -> list[NDArray[np.intp]]:
    """Return the rows of up to ``count`` different subtrees of at most ``size`` rows, each row as likely as any other.

    Only the nodes on the way to them are cut.
    """
    order, scratch = np.arange(len(points), dtype=np.intp), np.empty(len(points), dtype=np.intp)
    middles: dict[tuple[int, int], int] = {}
    found: list[tuple[int, int]] = []

    def cut(inside: NDArray[np.intp], scratch: NDArray[np.intp]) -> int:
        column, median = where_to_cut(inside, points.__getitem__)
        return int(divide(points[inside, column].astype(np.float32, copy=False), median, inside, scratch))

    for _ in range(4 * count):
        node = (0, len(points))
        while node[1] - node[0] > size:
            if node not in middles:
                inside = slice(*node)
                middles[node] = node[0] + cut(order[inside], scratch[inside])
            middle = middles[node]
            low = rng.uniform(*node) < middle
            node = (node[0], middle) if low else (middle, node[1])
        if node not in found:
            found.append(node)
        if len(found) == count:
            break
    return [order[slice(*node)].copy() for node in found]
