"""The experiments: what they keep, how they go on after a stop, the relatives they compare with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from dsekl import persistence
from dsekl.experiments import (
    covertype,
    figure2,
    grid,
    last_paragraph,
    maps,
    open_question,
    relatives_grid,
    speedup,
    table1,
)
from dsekl.experiments.block_diagonal import BlockDiagonal
from dsekl.experiments.covertype_run import ALGORITHM_2, LOCAL, algorithm_2
from dsekl.experiments.results import Results, Row, Table
from dsekl.experiments.runner import run_units
from dsekl.experiments.sections import AGREES, DIFFERS, NO_CLAIM, NOT_TESTED, Finding, untested
from dsekl.experiments.settings import Settings
from dsekl.experiments.streamed_features import Stream, descend
from tests.problems import xor

QUICK = Settings(quick=True)


def test_a_table_comes_back_from_its_file_as_it_was(tmp_path: Path) -> None:
    table = Table(tmp_path / "a.csv", ("method", "seed"))
    table.add([{"method": "Emp, all", "seed": 1, "error": 0.125}, {"method": "RKS", "seed": 1, "error": 1 / 3}])
    table.add([{"method": "RKS", "seed": 2, "error": 0.5, "note": ""}])
    again = Table(tmp_path / "a.csv", ("method", "seed"))
    assert [row["error"] for row in again.rows] == [0.125, pytest.approx(1 / 3, abs=1e-7), 0.5]
    assert again.where(method="Emp, all")[0]["seed"] == 1
    assert again.missing([{"method": "RKS", "seed": 2}, {"method": "RKS", "seed": 3}]) == [{"method": "RKS", "seed": 3}]
    again.add([{"method": "RKS", "seed": 2, "error": 0.25}])
    assert [row["error"] for row in again.where(seed=2)] == [0.25]
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_results_of_other_settings_are_not_mixed(tmp_path: Path) -> None:
    Results(tmp_path, QUICK.lasting())
    Results(tmp_path, QUICK.lasting())
    with pytest.raises(ValueError, match="--output"):
        Results(tmp_path, Settings(quick=True, seed=1).lasting())


def _square_or_stop(unit: Row) -> list[Row]:
    if unit["n"] == unit["stop_at"]:
        raise KeyboardInterrupt
    return [{**unit, "square": int(unit["n"]) ** 2}]


def test_a_stopped_run_goes_on_where_it_was(tmp_path: Path) -> None:
    table = Table(tmp_path / "a.csv", ("n",))
    with pytest.raises(KeyboardInterrupt):
        run_units("squares", table, [{"n": n, "stop_at": 3} for n in range(5)], _square_or_stop, QUICK)
    again = Table(tmp_path / "a.csv", ("n",))
    assert [row["n"] for row in again.rows] == [0, 1, 2]
    run_units("squares", again, [{"n": n, "stop_at": 0} for n in range(5)], _square_or_stop, QUICK)
    assert [row["square"] for row in again.rows] == [0, 1, 4, 9, 16]


def test_units_find_the_same_in_one_process_and_in_two(tmp_path: Path) -> None:
    units = [{**unit, "n_steps": 20} for unit in figure2.units(QUICK, ["Emp", "RKS"]) if unit["seed"] == 0]
    tables = []
    for n_jobs in (1, 2):
        table = Table(tmp_path / f"{n_jobs}.csv", figure2.KEY)
        run_units("figure 2", table, units, figure2.work, Settings(quick=True, n_jobs=n_jobs))
        tables.append(sorted(tuple(map(str, row.values())) for row in table.rows))
    assert tables[0] == tables[1]


def test_algorithm_2_on_covertype_resumes_to_the_bit(tmp_path: Path) -> None:
    data = covertype.parts(QUICK).scaled(StandardScaler())
    tables = []
    for name, stops in (("whole", [3]), ("parts", [1, 2, 3])):
        for epochs in stops:
            table = Table(tmp_path / f"{name}.csv", covertype.KEY)
            algorithm_2(table, data, Settings(quick=True, epochs=epochs), tmp_path / f"{name}.npz")
        tables.append([{k: v for k, v in row.items() if k != "seconds"} for row in table.rows])
    assert str(tables[0]) == str(tables[1])
    (whole, whole_arrays), (parts, parts_arrays) = (
        persistence.read(tmp_path / f"{name}.npz") for name in ("whole", "parts")
    )
    assert whole == parts
    np.testing.assert_equal(whole_arrays, parts_arrays)
    last = [row for row in tables[0] if row["model"] == ALGORITHM_2 and row["batch"] == 0][-1]
    assert last["epoch"] == 3
    assert last["evaluation_error"] < 0.06


def test_the_local_reading_is_a_run_of_its_own(tmp_path: Path) -> None:
    data = covertype.parts(QUICK).scaled(StandardScaler())
    table = Table(tmp_path / "a.csv", covertype.KEY)
    algorithm_2(table, data, QUICK, tmp_path / "local.npz", LOCAL, 1)
    algorithm_2(table, data, QUICK, tmp_path / "global.npz", ALGORITHM_2, 1)
    before = [dict(row) for row in table.rows]
    algorithm_2(table, data, QUICK, tmp_path / "local.npz", LOCAL, 1)
    assert str(table.rows) == str(before), "what is done is not done again"
    ends = [table.where(model=model, epoch=1, batch=0) for model in (LOCAL, ALGORITHM_2)]
    assert [len(rows) for rows in ends] == [1, 1]
    assert ends[0][0]["change"] != ends[1][0]["change"]


def test_the_parts_of_covertype_are_the_papers() -> None:
    data = covertype.catalogue.Dataset(np.zeros((581_012, 1), dtype=np.float32), np.ones(581_012, dtype=np.int64))
    parts = covertype.Parts.of(data, n_validation=1_122, n_evaluation=20_000, batch=10_000, seed=0)
    assert {name: len(rows) for name, rows in parts.X.items()} == {
        "training": 559_890, "validation": 1_122, "evaluation": 20_000
    }  # fmt: skip


def test_the_papers_sizes_are_on_the_axes_of_figure_2() -> None:
    sizes = {(unit["n_rows"], unit["n_cols"]) for unit in figure2.units(Settings(), ["Emp"])}
    assert set(figure2.CAPTIONS) <= sizes
    assert set(figure2.CAPTIONS) <= {(u["n_rows"], u["n_cols"]) for u in figure2.units(QUICK, ["Emp"])}
    assert len(table1.PAPER) == 7


def test_the_speed_up_model_has_the_measured_times_and_two_limits(tmp_path: Path) -> None:
    table = Table(tmp_path / "s.csv", speedup.KEY)
    fixed = {"rows": 10, "cols": 10, "traffic": 2e9}
    table.add([{"reading": speedup.BANDWIDTH, "workers": 2, "repeat": 0, "bytes_a_second": 1e9}])
    # 1 s serial, 99 s shared; memory alone needs 2 s.
    table.add([{"reading": "local", "workers": p, "repeat": 0, "seconds": 1 + 99 / p, **fixed} for p in (1, 2, 4)])
    assert speedup.predict(table, "local", 4) == pytest.approx(1 + 99 / 4)
    assert speedup.predict(table, "local", 10) == pytest.approx(1 + 9.9)
    assert speedup.predict(table, "local", 1000) == pytest.approx(1 + 2)
    assert speedup.predict(table, "local", 1000, memory=False) == pytest.approx(1 + 0.099)


def test_a_run_that_is_too_small_gives_no_verdict_on_the_paper() -> None:
    findings = [Finding("a", "b", DIFFERS), Finding("a", "b", AGREES), Finding("c", "d", NO_CLAIM)]
    assert [each.verdict for each in untested(findings)] == [NOT_TESTED, NOT_TESTED, NO_CLAIM]
    assert [each.found for each in untested(findings)] == ["b", "b", "d"]


@parametrize_with_checks([BlockDiagonal(n_blocks=2, random_state=0)])
def test_scikit_learn_accepts_the_block_diagonal_split(estimator: Any, check: Any) -> None:
    check(estimator)


def _nystroem(X: Any, y: Any, X_test: Any, y_test: Any, steps: grid.Steps, seed: int, moments: list[int]) -> Any:
    choice = grid.search(maps.nystroem, X, y, steps, seed)
    return choice, grid.curve(maps.nystroem, choice, X, y, X_test, y_test, steps, seed, moments)


@pytest.mark.parametrize("learn", [*relatives_grid.METHODS.values(), _nystroem])
def test_the_relatives_learn_xor(learn: Any) -> None:
    X, y = xor(200, seed=0)
    X_test, y_test = xor(1000, seed=1)
    choice, errors = learn(X, y, X_test, y_test, grid.Steps(50, 30, 100), 0, [100])
    assert choice.error < 0.06
    assert errors[100] < 0.06


def test_the_open_question_has_one_problem_wherever_two_parameters_meet() -> None:
    units = [
        {"knob": knob, "value": value, "method": "Emp", "seed": 0, "n_steps": 5}
        for knob, value in (("density", 1.0), ("D", 100))
    ]
    first, second = (open_question.work(unit)[0]["error"] for unit in units)
    assert first == second


def test_one_block_is_the_machine_itself() -> None:
    X, y = xor(80, seed=0)
    one = BlockDiagonal(n_blocks=1, random_state=0).fit(X, y)
    np.testing.assert_allclose(one.decision_function(X), SVC().fit(X, y).decision_function(X), atol=1e-3)


def test_blocks_of_single_points_vote_for_the_larger_class() -> None:
    X, y = xor(21, seed=0)
    votes = BlockDiagonal(n_blocks=21, random_state=0).fit(X, y)
    assert (votes.predict(X) == np.sign(y.sum())).all()


def test_streamed_features_follow_the_functional_gradient() -> None:
    """Three steps by hand, with f kept as a function on the training rows."""
    X, y = xor(30, seed=0)
    stream = Stream(seed=5, n_terms=4, gamma=0.7)
    penalties, rates = np.array([0.1]), np.array([0.5])
    path = list(descend(stream, X, y.astype(float), penalties, rates, 6, 3, np.random.default_rng(2)))
    rng = np.random.default_rng(2)
    f = np.zeros(30)
    kept: list[Any] = []
    for t, coef, _ in path:
        rows = rng.integers(0, 30, 6, dtype=np.intp)
        slope = np.where(y[rows] * f[rows] < 1, -y[rows], 0)
        phi = stream.features(t, X)
        new = -0.5 / t * phi[rows].T @ slope
        np.testing.assert_allclose(coef[:, 0], new)
        kept = [(1 - 2 * 0.1 * 0.5 / t) * old for old in kept] + [new]
        f = sum(stream.features(s, X) @ old for s, old in enumerate(kept, start=1))


def test_the_mean_of_streamed_features_is_the_kernel() -> None:
    X, _ = xor(5, seed=0)
    mean = np.mean([phi @ phi.T for phi in (Stream(0, 50, 0.7).features(t, X) for t in range(400))], axis=0)
    distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(mean, np.exp(-0.7 * distances), atol=0.02)


def test_the_last_paragraph_shows_error_and_bytes(tmp_path: Path) -> None:
    results = Results(tmp_path, QUICK.lasting())
    last_paragraph.run(results, QUICK)
    found = {str(row["method"]): row for row in results.table(last_paragraph.NAME, last_paragraph.KEY).rows}
    assert list(found) == list(last_paragraph.COLOURS)
    naive, *others = found.values()
    assert all(float(row["received"]) < float(naive["received"]) for row in others)
    assert all(float(row["error"]) < 0.05 for row in found.values())
    section = last_paragraph.section(results)
    assert section is not None
    assert [row[0] for row in section.tables[0].rows] == list(found)
    assert "of the naive scheme's bytes" in section.findings[0].found
