"""From regions to parts: who holds copies of whose rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .executor import Executor
from .halo import Boxes, Reach
from .part import Copies, Objective, Part, Places, Region

MOST_COPIES, MOST_SHARE = 4.0, 0.5
"""Copies of each row, and the share of all parts that hold one, above which blocks travel instead."""


@dataclass(frozen=True)
class Parts:
    """Parts, wherever they are: what stands for each, its rows, and whose copies it holds."""

    objective: Objective
    parts: list[Any]
    sizes: list[int]
    neighbours: list[list[int]]
    """For each part, the parts whose rows it holds copies of."""
    n_copies: int
    wide: bool
    """Whether blocks travel, as the kernel reaches too much for copies."""

    @property
    def n_rows(self) -> int:
        return sum(self.sizes)

    @property
    def halo_ratio(self) -> float:
        """Copies that would be held of each row in other parts."""
        return self.n_copies / max(1, self.n_rows)

    def __len__(self) -> int:
        return len(self.parts)


def boxes_of(region: Region) -> Boxes:
    """Return the boxes of a region."""
    return region.boxes


def box_of(region: Region) -> tuple[Any, Any, int]:
    """Return the corners of the one box of a region, and how many rows it has."""
    boxes = region.boxes
    return boxes.lo.min(axis=0), boxes.hi.max(axis=0), len(region)


def wanted(region: Region, boxes: Mapping[int, Boxes], reach: Reach) -> dict[int, Places]:
    """Return which rows of a region each of the other parts holds copies of."""
    return {number: others.near(region.points, reach) for number, others in boxes.items()}


def n_wanted(asked: Mapping[int, Places]) -> dict[int, int]:
    """Return how many rows each of the other parts asks for."""
    return {number: len(rows) for number, rows in asked.items()}


def copies_for(region: Region, asked: Mapping[int, Places], number: int) -> Copies:
    """Return the copies of a region's rows that another part holds."""
    rows = asked[number]
    return Copies(region.number, rows, region.points.data[rows])


def part_of(objective: Objective, region: Region, copies: Sequence[Copies], asked: Mapping[int, Places]) -> Part:
    """Return a part of its region, the copies that others give, and the rows that others ask for."""
    return Part.of(objective, region, copies, list(asked.values()))


def build(executor: Executor, objective: Objective, regions: list[Any]) -> Parts:
    """Return the parts of all regions, none of which is empty."""
    numbers = range(len(regions))
    boxes = [executor.submit(f"boxes-{p}", boxes_of, regions[p]) for p in numbers]
    outer = executor.gather([executor.submit(f"box-{p}", box_of, regions[p]) for p in numbers])
    asked = []
    for q in numbers:
        near = {p: boxes[p] for p in numbers if p != q and _near(outer[p], outer[q], objective.reach)}
        asked.append(executor.submit(f"wanted-{q}", wanted, regions[q], near, objective.reach))
    counts = executor.gather([executor.submit(f"n-wanted-{q}", n_wanted, asked[q]) for q in numbers])
    neighbours = [[q for q in numbers if counts[q].get(p, 0)] for p in numbers]
    n_rows, n_copies = sum(size for _, _, size in outer), sum(sum(count.values()) for count in counts)
    wide = n_copies > n_rows * min(MOST_COPIES, MOST_SHARE * (len(regions) - 1))
    if wide:
        neighbours = [[] for _ in numbers]
    parts = []
    for p in numbers:
        copies = [executor.submit(f"copies-{q}-{p}", copies_for, regions[q], asked[q], p) for q in neighbours[p]]
        parts.append(executor.submit(f"part-{p}", part_of, objective, regions[p], copies, asked[p]))
    return Parts(objective, parts, [size for _, _, size in outer], neighbours, n_copies, wide)


def _near(one: tuple[Any, Any, int], other: tuple[Any, Any, int], reach: Reach) -> bool:
    """Tell whether two boxes are within reach of each other."""
    if not np.isfinite(reach.value):
        return True
    apart = np.maximum(0.0, np.maximum(one[0] - other[1], other[0] - one[1]).astype(np.float64))
    return bool((apart.sum() if reach.manhattan else np.square(apart).sum()) <= reach.value)
