"""The spatial order of rows in a file, and their points written in that order, with little in memory.

The tree is the one of ``tree``, cut for cut. While nodes are large, each level takes one pass over the rows, for the
one entry of each that its node is cut by. The points are then written node by node, and each node, which now lies
together and fits into memory, is arranged there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dsekl.rows import RowFile, StoredRows
from dsekl.workers import Workers

from .placement import Placement
from .tree import LEAF, arrange, divide, where_to_cut

Order = NDArray[np.intp]


def stored_in_order(
    placement: Placement, X: StoredRows, budget: int, workers: Workers
) -> tuple[StoredRows, Order, NDArray[np.int64]]:
    """Return the points of X in a file, in spatial order, with that order and the leaf of each place in it.

    ``budget`` is the bytes that nodes in memory may take.
    """
    starts_leaf = np.zeros(len(X), dtype=np.bool_)
    with RowFile(*X.shape, placement.dtype) as file:
        # Each thread holds the points of a node twice, as they come and as they go; half the budget is for all of them.
        most_rows = max(LEAF, budget // (4 * workers.count * file.rows.row_bytes))
        order, nodes = _coarse_order(placement, X, most_rows)
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        for part, rows in X.chunks():
            file.write(place[part], placement.dense(rows))

        def finish(node: slice) -> None:
            points, within = file.rows[node], np.arange(node.stop - node.start, dtype=np.intp)
            arrange(points.astype(np.float32, copy=False), within, starts_leaf[node], np.empty_like(within))
            file.write(node, points[within])
            order[node] = order[node][within]

        workers.map(finish, nodes)
    return file.rows, order, np.cumsum(starts_leaf) - 1


def _coarse_order(placement: Placement, X: StoredRows, most_rows: int) -> tuple[Order, list[slice]]:
    """Return an order of the rows in which each node of at most ``most_rows`` is together, and those nodes."""
    order = np.arange(len(X), dtype=np.intp)
    nodes = [slice(0, len(X))]
    while large := [node for node in nodes if node.stop - node.start > most_rows]:
        cuts = [where_to_cut(order[node], lambda rows: placement.dense(X[rows])) for node in large]
        columns = np.zeros(len(X), dtype=np.intp)
        for node, (column, _) in zip(large, cuts, strict=True):
            columns[order[node]] = column
        values = placement.entries(X, columns).astype(np.float32, copy=False)
        nodes = [node for node in nodes if node not in large]
        for node, (_, median) in zip(large, cuts, strict=True):
            middle = node.start + divide(values[order[node]], median, order[node])
            nodes += [slice(node.start, middle), slice(middle, node.stop)]
    return order, nodes
