"""An order of the points in which neighbours in space are neighbours in memory.

A kd-tree is built in place: a node is cut across the column in which its points vary most, near the median, and its
two sides follow each other. A cut never parts equal values: on a column of zeros and ones, such as one-hot codes, it
falls between the two. Nodes end as leaves of at most 96 points. The tree itself is not kept: the order and the number
of each point's leaf are all that pruning needs.

Points of either number type are looked at in float32: an order needs no more, and one compiled tree serves both. Large
nodes, and all nodes of a small tree, are few: NumPy cuts them, so that who needs a few cuts compiles nothing. Both cut
alike.
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

LARGE_NODE, SMALL_TREE = 20_000, 4_096
"""Points of a node from which on it is cut by NumPy, one level at a time, each level's in parallel; and of a tree up to
which all of its nodes are."""


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


@inlined()
def _divide(values: Any, median: float, order: Any, scratch: Any) -> int:
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


@inlined()
def _cut(points: Any, order: Any, scratch: Any) -> int:
    """Arrange one node as its low side and its high side; return where they meet."""
    stride = max(1, order.size // SAMPLE)
    column = _widest_column(points, order, stride)
    sample = np.empty((order.size + stride - 1) // stride, dtype=points.dtype)
    for i in range(sample.size):
        sample[i] = points[order[i * stride], column]
    values = np.empty(order.size, dtype=points.dtype)
    for i in range(order.size):
        values[i] = points[order[i], column]
    return int(_divide(values, _median(sample), order, scratch))


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
    least = LARGE_NODE if n > SMALL_TREE else LEAF
    large, small = ([whole], []) if n > least else ([], [whole])
    while large:
        middles = workers.map(lambda node: node.start + cut(points, order[node]), large)
        halves = [
            half
            for node, middle in zip(large, middles, strict=True)
            for half in (slice(node.start, middle), slice(middle, node.stop))
        ]
        large = [node for node in halves if node.stop - node.start > least]
        small += [node for node in halves if node.stop - node.start <= least]
    if n > SMALL_TREE:
        workers.map(lambda node: arrange(points, order[node], starts_leaf[node], scratch[node]), small)
    else:
        starts_leaf[[node.start for node in small]] = True
    return order, np.cumsum(starts_leaf) - 1


class Points(Protocol):
    """What a tree is cut from: an array, or rows that are made when they are asked for."""

    def __len__(self) -> int: ...

    def __getitem__(self, wanted: Any, /) -> NDArray[Any]:
        """Return ``points[rows]``, or with ``points[rows, column]`` their entries in one column."""


def where_to_cut(order: NDArray[np.intp], points: Callable[[NDArray[np.intp]], NDArray[Any]]) -> tuple[int, float]:
    """Return the column in which a node varies most, and its median there, by a sample of its ``points``."""
    sample = points(order[:: max(1, len(order) // SAMPLE)]).astype(np.float32, copy=False)
    from_first = sample.astype(np.float64) - sample[0]
    spread = (from_first**2).sum(axis=0) - from_first.sum(axis=0) ** 2 / len(sample)
    column = int(spread.argmax())
    return column, float(np.median(sample[:, column]))


def divide(values: NDArray[Any], median: float, order: NDArray[np.intp]) -> int:
    """Arrange a node as its low side and its high side, by its values in one column; return where they meet."""
    n, low = len(order), values < median
    with_level = low | (values == median)
    # Equal values stay together, on the side that keeps the halves more even.
    if abs(n - 2 * np.count_nonzero(with_level)) < abs(n - 2 * np.count_nonzero(low)):
        low = with_level
    size = int(np.count_nonzero(low))
    if size in (0, n):
        return n // 2
    order[:] = np.concatenate([order[low], order[~low]])
    return size


def cut(points: Points, order: NDArray[np.intp]) -> int:
    """Arrange one node as its low side and its high side; return where they meet."""
    column, median = where_to_cut(order, points.__getitem__)
    return divide(points[order, column].astype(np.float32, copy=False), median, order)


def random_subtrees(points: Points, size: int, count: int, rng: np.random.Generator) -> list[NDArray[np.intp]]:
    """Return the rows of up to ``count`` different subtrees of at most ``size`` rows, each row as likely as any other.

    Only the nodes on the way to them are cut.
    """
    order = np.arange(len(points), dtype=np.intp)
    middles: dict[tuple[int, int], int] = {}
    found: list[tuple[int, int]] = []

    for _ in range(4 * count):
        node = (0, len(points))
        while node[1] - node[0] > size:
            if node not in middles:
                middles[node] = node[0] + cut(points, order[slice(*node)])
            middle = middles[node]
            low = rng.uniform(*node) < middle
            node = (node[0], middle) if low else (middle, node[1])
        if node not in found:
            found.append(node)
        if len(found) == count:
            break
    return [order[slice(*node)].copy() for node in found]
