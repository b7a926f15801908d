"""The search for gamma and C: the same result however it is run, stopped and taken up again."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_moons
from sklearn.metrics import r2_score

from dsekl import DSEKLClassifier, DSEKLRegressor
from dsekl.tuning import Tuned, halving, tune
from dsekl.tuning.journal import checksum

X, y = make_moons(240, noise=0.25, random_state=0)


def same(one: Tuned, other: Tuned) -> bool:
    return one.outcomes == other.outcomes and np.array_equal(
        one.estimator.decision_function(X), other.estimator.decision_function(X)
    )


@pytest.fixture
def many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few rows count as many: regions of 60."""
    whole = halving.region_rows
    monkeypatch.setattr(
        halving, "region_rows", lambda loss, n_outputs: whole(loss, n_outputs) if loss.quadratic else 60
    )


def test_the_result_depends_neither_on_threads_nor_on_a_journal(tmp_path: Path, many_rows: None) -> None:
    alone = tune([DSEKLClassifier(gamma="scale")], X, y, n_jobs=1)
    together = tune([DSEKLClassifier(gamma="scale")], X, y, n_jobs=2, journal=tmp_path / "journal.json")
    assert same(alone, together)
    assert alone.estimator.score(X, y) > 0.85


@pytest.mark.parametrize("kept", [0.1, 0.9])
def test_a_search_goes_on_from_its_journal(
    tmp_path: Path, many_rows: None, kept: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal.json"
    whole = tune([DSEKLClassifier(gamma="scale")], X, y, journal=path, n_jobs=1)
    journal = json.loads(path.read_text())
    findings = list(journal["found"].items())
    journal["found"] = dict(findings[: int(kept * len(findings))])
    journal["sha256"] = checksum({name: journal[name] for name in ("identity", "found")})
    path.write_text(json.dumps(journal))
    judged = []
    judge = halving._Search._judge

    def counting(self: Any, *arguments: Any) -> float:
        judged.append(arguments)
        return judge(self, *arguments)

    monkeypatch.setattr(halving._Search, "_judge", counting)
    assert same(tune([DSEKLClassifier(gamma="scale")], X, y, journal=path, n_jobs=1), whole)
    assert len(judged) <= (1 - kept) * len(findings) + 1
    assert len(json.loads(path.read_text())["found"]) == len(findings)


def test_a_journal_of_another_search_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal.json"
    tune([DSEKLClassifier(gamma="scale")], X[:60], y[:60], journal=path)
    with pytest.raises(ValueError, match="another search, with other data; delete it"):
        tune([DSEKLClassifier(gamma="scale")], X[:60] + 1, y[:60], journal=path)
    with pytest.raises(ValueError, match=r"with other .*seed"):
        tune([DSEKLClassifier(gamma="scale")], X[:60], y[:60], journal=path, seed=1)
    path.write_text("[]")
    with pytest.raises(ValueError, match="is no journal of a search"):
        tune([DSEKLClassifier(gamma="scale")], X[:60], y[:60], journal=path)


def test_candidates_are_compared_on_whole_regions(many_rows: None, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    draw = halving.draw_regions

    def watched(*arguments: Any) -> Any:
        seen.extend(draw(*arguments))
        return seen

    monkeypatch.setattr(halving, "draw_regions", watched)
    tune([DSEKLClassifier(gamma="scale")], X, y)
    assert len(seen) > 1
    for region in seen:
        rows = np.concatenate([region.fitted, region.held_out])
        low, high = X[rows].min(axis=0), X[rows].max(axis=0)
        inside = np.logical_and(low <= X, high >= X).all(axis=1)
        assert inside.sum() == len(rows) <= 60


def test_few_candidates_see_all_of_the_data(many_rows: None) -> None:
    found = tune([DSEKLClassifier(gamma="scale")], X, y)
    by_rung = [sum(outcome.rung >= rung for outcome in found.outcomes) for rung in range(3)]
    assert by_rung == [49, 16, 3]
    assert found.best.rung == 2
    assert found.best.error == min(outcome.error for outcome in found.outcomes if outcome.rung == 2)


def test_several_kernels_and_losses_compete() -> None:
    found = tune([DSEKLClassifier("linear"), DSEKLClassifier("rbf", gamma="scale")], X, y)
    assert found.estimator.kernel == "rbf"
    assert {outcome.candidate.width for outcome in found.outcomes if outcome.candidate.arm == 0} == {1.0}


def test_numbers_are_tuned_by_their_mean_square() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 6, (150, 1))
    wave = np.sin(2 * X[:, 0]) + 0.05 * rng.standard_normal(150)
    found = tune([DSEKLRegressor(gamma=0.1)], X, wave)
    assert r2_score(np.sin(2 * X[:, 0]), found.estimator.predict(X)) > 0.98
    assert 0 < found.best.error < 0.02
    assert found.best.candidate.width > 1  # gamma=0.1 is too wide for this wave


def test_sparse_rows_are_tuned(many_rows: None) -> None:
    rows = sparse.csr_matrix(np.tile(np.where(np.abs(X) > 0.3, X, 0.0), 10))
    found = tune([DSEKLClassifier()], rows, y)
    assert found.estimator.score(rows, y) > 0.8


def test_sparse_rows_of_any_width_are_tuned(many_rows: None) -> None:
    entries = sparse.coo_array(np.where(np.abs(X) > 0.3, X, 0.0))
    places = np.array([5, 10**8])[entries.col]
    rows = sparse.coo_array((entries.data, (entries.row, places)), shape=(len(X), 10**8 + 1)).tocsr()
    tracemalloc.start()
    found = tune([DSEKLClassifier()], rows, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.estimator.score(rows, y) > 0.8
    assert peak < 2**26


def test_a_region_of_one_class_is_judged_by_it(many_rows: None) -> None:
    apart = np.concatenate([X - 20, X + 20])
    labels = np.repeat([0, 1], len(X))
    assert tune([DSEKLClassifier(gamma="scale")], apart, labels).best.error == 0.0
