"""From blocks to regions: each block's rows go to the region of space that they are in."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsekl.models import Examples
from dsekl.parts import Objective, Planes, Region

from .blocks import Blocks
from .cluster import DaskExecutor
from .lazy import called
from .overview import Overview
from .partitions import Encoding, split_by_part

SHUFFLED_ROWS, SHUFFLED_BYTES = 2**16, 2**28
"""Rows that a task sends to their parts, and bytes that it may read at the most: small blocks go together."""

SHUFFLED_SHARE = 2
"""The memory budget over the bytes that a task may read, as it holds its rows several times."""

USUAL_BUDGET = 2**28
"""The memory budget by default."""

MOST_SHUFFLES = 256
"""Tasks that send rows to their parts, as far as these bytes allow: each part has a further task for each."""

NOBODY = np.arange(0)


def regions_of(
    executor: DaskExecutor, blocks: Blocks, overview: Overview, encoding: Encoding, sample: Examples,
    objective: Objective, n_parts: int, held_out: NDArray[np.intp] = NOBODY,
) -> list[Any]:  # fmt: skip
    """Return the regions of all rows but those whose places are held out."""
    starts, ends = overview.starts, [*overview.starts[1:], overview.n_rows]
    points = objective.placement.dense(np.asarray(sample.rows.values))
    planes = Planes.of(points, n_parts)
    asked = []
    for group in groups_of(overview.lengths, rows_a_task(overview.n_rows, blocks.n_features, objective.budget)):
        some = slice(group.start, group.stop)
        first, last = np.searchsorted(held_out, (starts[group.start], ends[group.stop - 1]))
        given = (*blocks.of(group), starts[some], objective, planes, encoding, held_out[first:last])
        asked.append(called(executor.key("shuffle"), split_by_part, *given))
    routes = executor.compute(asked)
    workers = executor.workers_for(np.bincount(planes.part_of(points), minlength=planes.n_parts).tolist())
    return [
        executor.submit(
            "region",
            Region.of,
            part,
            objective,
            [executor.submit("rows", itemgetter(part), route) for route in routes],
            worker=workers[part],
        )
        for part in range(planes.n_parts)
    ]


def rows_a_task(n_rows: int, n_features: int, budget: int = USUAL_BUDGET) -> int:
    """Return how many rows a task sends to their parts, if no block has more."""
    n_bytes = min(SHUFFLED_BYTES, budget // SHUFFLED_SHARE)
    return max(1, min(max(SHUFFLED_ROWS, n_rows // MOST_SHUFFLES), n_bytes // (8 * n_features)))


def groups_of(lengths: Sequence[int], n_rows: int) -> list[range]:
    """Return consecutive blocks that are sent together, of so many rows at least."""
    groups, start, n = [], 0, 0
    for block, length in enumerate(lengths):
        n += length
        if n >= n_rows or block + 1 == len(lengths):
            groups.append(range(start, block + 1))
            start, n = block + 1, 0
    return groups
