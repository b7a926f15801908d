"""Parts are where all workers have as much to do, and move only for that."""

from __future__ import annotations

import pytest

pytest.importorskip("distributed", reason="dask is not installed: pip install 'dsekl[dask]'")

from distributed import Client

from dsekl.dask.cluster import DaskExecutor
from dsekl.dask.load_balance import balanced
from dsekl.dask.shuffle import groups_of, rows_a_task

TWO = {"a": 1, "b": 1}


def loads_of(workers: list[str | None], loads: list[float]) -> dict[str | None, float]:
    return {
        worker: sum(load for at, load in zip(workers, loads, strict=True) if at == worker) for worker in set(workers)
    }


def test_loads_are_even_by_threads() -> None:
    loads = [230.0, 57.0, 43.0, 76.0, 115.0, 22.0, 102.0, 31.0]
    assert max(loads_of(balanced(loads, TWO), loads).values()) < 1.05 * sum(loads) / 2
    uneven = loads_of(balanced(loads, {"a": 3, "b": 1}), loads)
    assert uneven["a"] == pytest.approx(3 * uneven["b"], rel=0.1)
    assert balanced(loads, {}) == [None] * 8


def test_the_tasks_of_a_shuffle_do_not_grow_with_its_rows_until_their_memory_does() -> None:
    many = [2**16] * 4_096
    counts = [len(groups_of(many, rows_a_task(sum(many), n_features))) for n_features in (10, 100, 10_000)]
    assert counts == [256, 1_366, 4_096]
    small = [1_000] * 8
    assert len(groups_of(small, rows_a_task(8_000, 10_000))) == 4
    assert len(groups_of(small, rows_a_task(8_000, 100, budget=2**20))) == 8
    groups = groups_of([30_000] * 7, rows_a_task(210_000, 10))
    assert groups == [range(3), range(3, 6), range(6, 7)]


def test_a_part_stays_where_it_is_unless_that_is_uneven() -> None:
    even = [["b"], ["a"], ["b"], ["a"]]
    assert balanced([1.0, 1.02, 1.0, 1.0], TWO, even) == ["b", "a", "b", "a"]
    assert balanced([0.0] * 4, TWO, even) == ["b", "a", "b", "a"]
    assert balanced([3.0, 3.0, 1.0, 1.0], TWO, [["a"], ["a"], ["a"], ["b"]]) == ["a", "b", "a", "b"]
    assert balanced([1.0, 1.0], TWO, [["gone"], []]) == ["a", "b"]
    assert balanced([2.0, 1.0, 1.0], {"a": 1, "b": 1, "new": 1}, [["a"], ["b"], ["b"]]).count("new") == 1


def test_parts_move_to_workers_that_have_nothing_to_do(client: Client) -> None:
    executor = DaskExecutor(client)
    first, second = sorted(client.scheduler_info()["workers"])
    parts = [executor.submit("part", abs, -k, worker=first) for k in range(4)]
    assert executor.gather(parts) == [0, 1, 2, 3]
    moved = executor.spread(parts, [1.0] * 4)
    assert executor.gather(moved) == [0, 1, 2, 3]
    at = [client.who_has([part])[part.key] for part in moved]
    assert sum(second in where for where in at) == 2
    assert executor.spread(moved, [1.0] * 4) == moved
