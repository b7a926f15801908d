"""Machines that learn one row at a time: one model for batches and rows, files, forgetting, memory, bad input."""

from __future__ import annotations

import pickle
import signal
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import dsekl
from dsekl import OnlineDSEKLAnomaly, OnlineDSEKLClassifier, OnlineDSEKLRegressor
from dsekl.compiled import njit
from dsekl.estimators.labels import decisions
from dsekl.kernels import RBF, Polynomial
from dsekl.losses import Hinge, Squared, SquaredHinge
from dsekl.online import Learner, Settings, dual_steps, pairs, stream_file
from dsekl.online.buffer import FACTOR, LABEL
from dsekl.online.dicts import DictMachine
from dsekl.online.large import LargeLearner
from dsekl.online.large_steps import BATCH
from dsekl.online.maintenance import WAYS
from dsekl.online.odds import at_first, probabilities
from dsekl.persistence import ModelFileError

X = np.random.default_rng(0).standard_normal((1400, 4))
LABELS = (X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 2] > 1)
TARGETS = X[:, 0] * X[:, 1] + 0.1 * np.random.default_rng(1).standard_normal(1400)

KINDS: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {
    "classes": (OnlineDSEKLClassifier, (LABELS,), dict(classes=[0, 1, 2])),
    "numbers": (OnlineDSEKLRegressor, (TARGETS,), {}),
    "outliers": (OnlineDSEKLAnomaly, (), {}),
}


def learn(model: Any, name: str, first: int, last: int) -> Any:
    _, y, more = KINDS[name]
    return model.partial_fit(X[first:last], *(part[first:last] for part in y), **more)


def values(model: Any) -> Any:
    return model.predict(X) if isinstance(model, OnlineDSEKLRegressor) else model.decision_function(X)


@pytest.mark.parametrize("name", KINDS)
def test_batches_rows_files_and_pickles_give_one_model_to_the_bit(name: str, tmp_path: Path) -> None:
    kind = KINDS[name][0]
    straight = learn(kind(budget=40, random_state=0), name, 0, 1400)
    model = kind(budget=40, random_state=0)
    for row in range(530):  # weights of features are learned at 128, 256 and 512
        learn(model, name, row, row + 1)
    model.save(tmp_path / "m.dsekl")
    model = dsekl.load(tmp_path / "m.dsekl")
    learn(model, name, 530, 900)
    model = pickle.loads(pickle.dumps(model))
    learn(model, name, 900, 1400)
    np.testing.assert_array_equal(values(model), values(straight))
    assert model.progressive_loss_ == straight.progressive_loss_
    assert model.n_seen_ == 1400
    assert len(model.support_vectors_) == len(model.dual_coef_) == 40


@pytest.mark.parametrize("name", KINDS)
def test_f_is_the_sum_over_support_vectors(name: str) -> None:
    model = learn(KINDS[name][0](budget=30, random_state=0), name, 0, 700)
    distances = (np.square(X[:50, None] - model.support_vectors_) * model.gamma_).sum(axis=2)
    expected = np.exp(-distances) @ model.dual_coef_ + X[:50] @ model.trend_ + model.intercept_
    np.testing.assert_allclose(model.learner_.evaluate(X[:50]), expected, atol=1e-9)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kernel", ["rbf", "matern32", "poly"])
def test_what_is_known_of_a_point_stays_true_under_all_maintenance(way: str, kernel: str) -> None:
    model = OnlineDSEKLClassifier(kernel, gamma=0.2, C=1.0, maintenance=way, budget=25, half_life=300.0, random_state=0)
    learn(model, "classes", 0, 400)
    b, n = model.learner_.buffer, 25
    parts = b.parts
    K = b.kernel[:n, :n]
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_allclose(parts.f[:, :n], parts.coef[:, :n] @ K, atol=1e-6 * np.abs(parts.f[:, :n]).max())
    assert (parts.mass[:, :n] > 0).all()
    if way in ("merge", "absorb", "project"):  # nobody's rows are lost but those that never entered
        assert b.machines[FACTOR] * parts.mass[:, :n].sum() > 25


def test_merging_two_points_changes_f_less_than_losing_one() -> None:
    errors = {"merge": 0.0, "random": 0.0}
    for way, seed in product(errors, range(5)):  # a single stream is a matter of luck
        model = OnlineDSEKLClassifier(maintenance=way, budget=20, gamma=0.5, random_state=seed)
        errors[way] += 1 - learn(model, "classes", 0, 1400).score(X, LABELS)
    assert errors["merge"] < 0.8 * errors["random"]


def test_forgetting_is_worth_it_after_a_change() -> None:
    y = np.where(np.arange(1400) < 700, X[:, 0] > 0, X[:, 0] < 0).astype(int)
    wrong: dict[float | str | None, float] = {None: 0.0, "auto": 0.0, 100.0: 0.0}
    for half_life, seed in product(wrong, range(5)):
        model = OnlineDSEKLClassifier(loss="hinge", C=1.0, budget=40, half_life=half_life, random_state=seed)
        model.partial_fit(X[:800], y[:800], classes=[0, 1])
        wrong[half_life] += np.mean(model.predict(X[800:]) != y[800:])
    assert wrong[100.0] < 0.5 * wrong[None]
    # Without forgetting, simple models beside the kernel machine follow a change too, on most seeds.
    assert wrong["auto"] < 0.85 * wrong[None]


def test_an_automatic_C_is_far_from_the_worse_one() -> None:
    """Noisy labels want a small C, and a checkerboard without noise a large one."""
    rng = np.random.default_rng(9)
    rows = rng.uniform(0, 4, (3000, 2))
    clean = (np.floor(rows).sum(axis=1) % 2).astype(int)
    for y, best, worst in ((clean, 10.0, 0.2), (np.where(rng.random(3000) < 0.3, 1 - clean, clean), 0.2, 10.0)):
        errors = {}
        for C in (best, worst, "auto"):
            model = OnlineDSEKLClassifier(budget=60, gamma=2.0, C=C, random_state=0)
            model.partial_fit(rows[:2000], y[:2000], classes=[0, 1])
            errors[C] = np.mean(model.predict(rows[2000:]) != clean[2000:])
        assert errors["auto"] < 0.8 * errors[worst]


def test_learned_weights_find_the_columns_that_matter() -> None:
    rows = np.random.default_rng(2).standard_normal((600, 8)) * [1, 10, 1, 1, 100, 1, 1, 1]
    y = (rows[:, 0] * rows[:, 1] > 0).astype(int)
    model = OnlineDSEKLClassifier(budget=60, random_state=0).partial_fit(rows, y, classes=[0, 1])
    shares = model.gamma_ * rows.var(axis=0)
    assert set(np.argsort(-shares)[:2]) == {0, 1}


def test_rows_of_weight_0_change_nothing() -> None:
    model = learn(OnlineDSEKLRegressor(budget=30, random_state=0), "numbers", 0, 300)
    before = model.predict(X)
    model.partial_fit(X[300:310], 1e6 * TARGETS[300:310], sample_weight=np.zeros(10))
    np.testing.assert_array_equal(model.predict(X), before)


def test_many_targets_are_learned_side_by_side() -> None:
    Y = np.column_stack([TARGETS, 100 * X[:, 0]])
    model = OnlineDSEKLRegressor(budget=100, random_state=0).partial_fit(X, Y)
    assert model.predict(X).shape == (1400, 2)
    assert model.score(X, Y) > 0.8


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic", "squared"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_loss_gives_probabilities(loss: str, n_classes: int) -> None:
    rng = np.random.default_rng(6)
    rows = rng.standard_normal((4000, 2))
    chances = np.exp(2.0 * np.column_stack([rows[:, 0], rows[:, 1], np.zeros(4000)])[:, :n_classes])
    chances /= chances.sum(axis=1, keepdims=True)
    y = (chances.cumsum(axis=1) < rng.random((4000, 1))).sum(axis=1)
    model = OnlineDSEKLClassifier(loss=loss, budget=100, random_state=0)
    model.partial_fit(rows[:3000], y[:3000], classes=np.arange(n_classes))
    found, new = model.predict_proba(rows[3000:]), y[3000:]
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_array_equal(found.argmax(axis=1), model.predict(rows[3000:]))
    log_loss, least = (-np.log(p[np.arange(1000), new]).mean() for p in (found, chances[3000:]))
    assert log_loss < least + 0.2 * (np.log(n_classes) - least)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_likeliest_class_is_the_one_predicted_however_near_f_is_to_0(n_classes: int) -> None:
    f = 1e-100 * np.random.default_rng(0).standard_normal((50, 1 if n_classes == 2 else n_classes))
    p = probabilities(at_first(Hinge()), f)
    np.testing.assert_array_equal(p.argmax(axis=1), decisions(f))
    np.testing.assert_allclose(p, 1 / n_classes)


def test_large_budgets_give_probabilities_too() -> None:
    rng = np.random.default_rng(7)
    rows = rng.standard_normal((3 * BATCH, 2))
    chances = 1 / (1 + np.exp(-6 * rows[:, 0]))
    y = (rng.random(3 * BATCH) < chances).astype(int)
    n = 2 * BATCH
    model = OnlineDSEKLClassifier(budget=5000, C=0.1, random_state=0).partial_fit(rows[:n], y[:n], classes=[0, 1])
    found, new = model.predict_proba(rows[n:])[:, 1], y[n:]
    log_loss, least = (-np.log(np.where(new == 1, p, 1 - p)).mean() for p in (found, chances[n:]))
    assert log_loss < least + 0.2 * (np.log(2) - least)


def test_memory_is_the_same_after_many_rows() -> None:
    learner = Learner.start(Settings(RBF(), Hinge(), budget=20, half_life="auto"), 2, 1, 0)
    rows = np.random.default_rng(0).standard_normal((1_000_000, 2))
    y = np.where(rows[:, :1] > 0, 1.0, -1.0)

    def size() -> int:
        return len(pickle.dumps(learner))

    learner.learn(rows[:10_000], y[:10_000], np.ones(10_000), (y[:10_000, 0] > 0).astype(np.int64))
    after_few = size()
    learner.learn(rows[10_000:], y[10_000:], np.ones(990_000), (y[10_000:, 0] > 0).astype(np.int64))
    assert abs(size() - after_few) < 64  # numbers have more digits
    assert learner.n_seen == 1_000_000


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_large_budgets_have_one_model_for_batches_and_files(noise: float, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((2 * BATCH + 300, 2))
    y = (rows[:, 0] * rows[:, 1] > 0).astype(int) ^ (rng.uniform(size=len(rows)) < noise)
    straight = OnlineDSEKLClassifier(budget=5000, random_state=0).partial_fit(rows, y, classes=[0, 1])
    model = OnlineDSEKLClassifier(budget=5000, random_state=0)
    for first in range(0, len(rows), 700):
        model.partial_fit(rows[first : first + 700], y[first : first + 700], classes=[0, 1])
        model.predict(rows[:5])  # what a prediction settles is not learned twice
        model.save(tmp_path / "m.dsekl")
        model = dsekl.load(tmp_path / "m.dsekl")
    np.testing.assert_array_equal(model.decision_function(rows), straight.decision_function(rows))
    assert noise or model.score(rows, y) > 0.97
    assert len(model.learner_.waiting) == 300
    assert (len(model.support_vectors_) > BATCH) == (noise > 0), "then neighbours are drawn"


def test_large_budgets_forget_by_themselves_what_is_out_of_date(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    n, change = 7 * BATCH, 5 * BATCH + 300
    rows = rng.standard_normal((n + 2000, 3))
    y = (rows[:, 0] * rows[:, 1] > 0).astype(int) ^ (rng.uniform(size=len(rows)) < 0.05)
    y[change:] ^= 1  # the classes change places
    errors, points = {}, {}
    for half_life in ("auto", None):
        model = OnlineDSEKLClassifier(budget=10_000, half_life=half_life, random_state=0)
        model.partial_fit(rows[:change], y[:change], classes=[0, 1])
        points[half_life] = len(model.support_vectors_)
        if half_life == "auto":
            model.save(tmp_path / "m.dsekl")
        model.partial_fit(rows[change:n], y[change:n])
        errors[half_life] = 1.0 - model.score(rows[n:], y[n:])
        if half_life == "auto":
            again = dsekl.load(tmp_path / "m.dsekl").partial_fit(rows[change:n], y[change:n])
            np.testing.assert_array_equal(again.decision_function(rows[n:]), model.decision_function(rows[n:]))
    assert points["auto"] == points[None]  # nothing was forgotten before
    assert errors["auto"] < errors[None] - 0.02


def test_large_budgets_learn_from_dicts_as_they_come(tmp_path: Path) -> None:
    """Rows one by one, with a feature and a class that come up late, go on from a file to the bit."""
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((BATCH + 700, 3))
    labels = np.where(rows[:, 0] * rows[:, 1] > 0, "a", "b")
    late = BATCH + 100
    labels[late:][rows[late:, 2] > 1] = "c"
    values = dict(kernel="rbf", loss="hinge", gamma="auto", C=1.0, budget=5000, maintenance="merge",
                  half_life="auto", n_cols=32, classes=True)  # fmt: skip

    def taken(machine: DictMachine, first: int, last: int) -> DictMachine:
        for place in range(first, last):
            more = {"z": rows[place, 2]} if place >= late else {}
            machine.learn({"x": rows[place, 0], "y": rows[place, 1], **more}, str(labels[place]))
        return machine

    queries = [{"x": a, "y": b, "z": c} for a, b, c in rows[:40].tolist()] + [{"x": 0.5}]
    straight = taken(DictMachine(stream_file.settings_of(values), 0), 0, len(rows))
    machine = taken(DictMachine(stream_file.settings_of(values), 0), 0, late + 50)
    machine.evaluate(queries)  # what a prediction makes ready is not learned twice
    stream_file.write(tmp_path / "m", machine, values, {})
    machine = taken(stream_file.read(tmp_path / "m")[0], late + 50, len(rows))
    found = machine.evaluate(queries)
    np.testing.assert_array_equal(found, straight.evaluate(queries))
    known = [{"x": a, "y": b} for a, b in rows[:500, :2].tolist()]
    assert machine.learner is not None
    assert machine.learner.n_outputs == 3
    names = np.array(list(machine.codes))
    assert np.mean(names[machine.probabilities(known).argmax(axis=1)] == labels[:500]) > 0.9


def test_large_budgets_are_kept() -> None:
    rng = np.random.default_rng(4)
    rows = rng.standard_normal((3 * BATCH, 2))
    learner = LargeLearner.start(Settings(RBF(), Squared(), gamma=4.0, budget=4500, classes=False), 2, 1, 0)
    learner.learn(rows, rng.standard_normal((len(rows), 1)), np.ones(len(rows)), np.zeros(len(rows), dtype=np.int64))
    assert learner.n_points == 4500


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (dict(kernel="precomputed"), ["kernel", "precomputed"]),
        (dict(kernel=lambda a, b: a), ["kernel"]),
        (dict(gamma="learn"), ["gamma", "learn", "auto"]),
        (dict(gamma=-1.0), ["gamma", "-1.0"]),
        (dict(gamma=[1.0, 2.0]), ["gamma", "2", "4"]),
        (dict(maintenance="forget"), ["maintenance", "forget"]),
        (dict(half_life=0), ["half_life", "0"]),
        (dict(budget=0), ["budget", "0"]),
        (dict(budget=5000, maintenance="oldest"), ["maintenance", "oldest", "absorb"]),
        (dict(loss="huber"), ["loss", "huber"]),
    ],
)
def test_settings_that_cannot_be_are_named(settings: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the words are what matters
        learn(OnlineDSEKLClassifier(**settings), "classes", 0, 10)
    assert all(word in str(error.value) for word in words), str(error.value)


def test_bad_rows_are_named_and_teach_nothing() -> None:
    model = learn(OnlineDSEKLClassifier(budget=20, random_state=0), "classes", 0, 200)
    before = model.decision_function(X)
    hole = X[:3].copy()
    hole[1, 2] = np.nan
    for rows, labels, words in (
        (hole, [0, 1, 2], "NaN"),
        (X[:3, :2], [0, 1, 2], "2 features"),
        (np.hstack([X[:3], X[:3]]), [0, 1, 2], "8 features"),
        (X[:3], [0, 1, 7], "7"),
        (X[:3] * 1e200, [0, 1, 2], "too large"),
    ):
        with pytest.raises(ValueError, match=words):
            model.partial_fit(rows, labels)
    np.testing.assert_array_equal(model.decision_function(X), before)
    with pytest.raises(NotFittedError):
        OnlineDSEKLClassifier().predict(X)
    with pytest.raises(ValueError, match="classes"):
        OnlineDSEKLClassifier().partial_fit(X, LABELS)
    with pytest.raises(ValueError, match="not those of the first call"):
        model.partial_fit(X, LABELS, classes=[0, 1])


def test_numbers_that_are_too_large_end_in_an_error_and_never_in_a_model_without_numbers() -> None:
    with pytest.raises(ValueError, match="y holds 2e\\+200"):
        OnlineDSEKLRegressor().partial_fit(X[:2], [1.0, 2e200])
    with pytest.raises(ValueError, match=r"n_cols.*\[0, 4096\]"):
        OnlineDSEKLRegressor(n_cols=10**6).partial_fit(X, TARGETS)
    model = OnlineDSEKLRegressor(Polynomial(3), gamma=1.0, budget=20, random_state=0)
    model.partial_fit(X, TARGETS)
    with pytest.raises(ValueError, match="no finite numbers"):
        model.partial_fit(np.concatenate([X * 1e60, X]), np.tile(TARGETS, 2))


def test_a_vanished_column_is_named() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    model = OnlineDSEKLRegressor(budget=20, random_state=0).partial_fit(frame, TARGETS)
    with pytest.raises(ValueError, match="d"):
        model.partial_fit(frame[["a", "b", "c"]], TARGETS)


@pytest.mark.parametrize("place", ["seed", "points", "lines", "machines", "gamma", "unit", "odds", "early"])
def test_forged_learners_are_refused(place: str, tmp_path: Path) -> None:
    from dsekl import persistence

    path = tmp_path / "m.dsekl"
    learn(OnlineDSEKLClassifier(budget=20, random_state=0), "classes", 0, 200).save(path)
    header, arrays = persistence.read(path)
    for name in list(arrays):
        if name.startswith(f"basis.{place}"):
            arrays[name] = -arrays[name] if arrays[name].dtype.kind == "f" else arrays[name][:-1]
    if place == "seed":
        header["basis"]["seed"] = -1
    elif place == "points":
        arrays["basis.points"] = arrays["basis.points"][:, :-1]
    persistence.write(path, header, arrays)
    with pytest.raises(ModelFileError):
        dsekl.load(path)


@pytest.mark.parametrize("name", KINDS)
def test_ctrl_c_comes_between_rows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a row it would leave a machine that has counted the row and not learned from it."""
    model = learn(KINDS[name][0](budget=20, random_state=0), name, 0, 300)
    points_of, calls = Learner.points_of, []

    def interrupted(self: Learner, rows: Any) -> Any:
        calls.append(len(rows))
        if len(calls) == 1:
            signal.raise_signal(signal.SIGINT)
        return points_of(self, rows)

    monkeypatch.setattr(Learner, "points_of", interrupted)
    with pytest.raises(KeyboardInterrupt):
        learn(model, name, 300, 700)
    monkeypatch.undo()
    assert model.n_seen_ > 300
    same = learn(KINDS[name][0](budget=20, random_state=0), name, 0, model.n_seen_)
    np.testing.assert_array_equal(model.predict(X), same.predict(X))
    np.testing.assert_array_equal(model.dual_coef_, same.dual_coef_)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_a_small_C_lets_rows_in(loss: str) -> None:
    model = OnlineDSEKLClassifier(loss=loss, C=0.005, budget=50, random_state=0)
    model.partial_fit(X[:500], X[:500, 0] * X[:500, 1] > 0, classes=[False, True])
    assert len(model.support_vectors_) == 50


@njit()
def cheapest(b: Any, n: int) -> Any:
    return pairs.cheapest_pair(b, n, True)


def test_a_pair_to_merge_is_the_cheapest_of_those_most_alike() -> None:
    """All pairs of one label are gone through, for the points with the smallest coefficients and the last row."""
    model = OnlineDSEKLClassifier(gamma=0.2, C=1.0, half_life=None, budget=30, random_state=0)
    learn(model, "classes", 0, 400)
    b, n = model.learner_.buffer, 30
    parts, K = b.parts, b.kernel[:30, :30]
    size = np.square(parts.coef[:, :n]).sum(axis=0)
    labels = parts.rest[LABEL, :n]
    candidates = {n - 1, *np.argsort(size, kind="stable")[: pairs.N_CANDIDATES - 1].tolist()}
    costs = {}
    for i, j in product(candidates, range(n)):
        if i == j or labels[i] != labels[j]:
            continue
        h = np.sqrt(size[i]) / (np.sqrt(size[i]) + np.sqrt(size[j]) + pairs.TINY)
        near, far = K[i, j] ** ((1 - h) ** 2), K[i, j] ** (h * h)
        merged = near * parts.coef[:, i] + far * parts.coef[:, j]
        costs[i, j] = size[i] + size[j] + 2 * K[i, j] * (parts.coef[:, i] @ parts.coef[:, j]) - merged @ merged
    goes, stays = cheapest(b, n)
    assert costs[goes, stays] == pytest.approx(min(costs.values()), rel=1e-9)


def test_the_automatic_loss_is_that_of_the_classes_so_far(tmp_path: Path) -> None:
    """Hinges of one class against the rest tell nothing where no class has most of the rows."""
    values = dict(kernel="rbf", loss="auto", gamma="auto", C="auto", budget=30, maintenance="merge", half_life=None,
                  n_cols=8, classes=True)  # fmt: skip
    machine = DictMachine(stream_file.settings_of(values), 0)
    rows = [{"a": a, "b": b} for a, b in X[:300, :2].tolist()]
    for place, row in enumerate(rows):
        machine.learn(row, f"{int(row['a'] > 0) if place < 150 else place % 3}")
        assert isinstance(machine.learner.settings.loss, Hinge if len(machine.codes) < 3 else SquaredHinge)
    stream_file.write(tmp_path / "m", machine, values, {})
    again = stream_file.read(tmp_path / "m")[0]
    for one in (machine, again):
        for row in rows[:20]:
            one.learn(row, "0")
    np.testing.assert_array_equal(machine.evaluate(rows), again.evaluate(rows))


PLAIN = {
    "lists": lambda part: part.tolist(),
    "of other types": lambda part: part.astype(np.float32 if part.dtype == np.float64 else np.int16),
    "not contiguous": lambda part: np.repeat(part, 2, axis=0)[::2],
}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("way", PLAIN)
def test_rows_that_are_looked_at_and_plain_ones_give_one_model(way: str, name: str) -> None:
    """Arrays of plain numbers need no check by scikit-learn, which takes longer than learning from a row."""
    rounded = X.astype(np.float32).astype(np.float64)
    targets = [part.astype(np.float32).astype(part.dtype) for part in KINDS[name][1]]
    both = [KINDS[name][0](budget=20, random_state=0) for _ in range(2)]
    for model, given in zip(both, (lambda part: part, PLAIN[way]), strict=True):
        for row in range(40):
            part = slice(row, row + 1)
            model.partial_fit(given(rounded[part]), *(given(y[part]) for y in targets), **KINDS[name][2])
    np.testing.assert_array_equal(values(both[0]), values(both[1]))


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 1e200])
def test_plain_rows_that_cannot_be_used_teach_nothing(wrong: float) -> None:
    model = learn(OnlineDSEKLRegressor(budget=20, random_state=0), "numbers", 0, 20)
    bad = np.where(np.arange(4) == 2, wrong, X[:1])
    with pytest.raises(ValueError, match="X"):
        model.partial_fit(bad, TARGETS[:1])
    with pytest.raises(ValueError, match="X"):
        model.predict(bad)
    with pytest.raises(ValueError, match="y"):
        model.partial_fit(X[:1], np.array([wrong]))
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:1, :3], TARGETS[:1])
    assert model.n_seen_ == 20


def test_sample_weights_that_change_later_change_nothing() -> None:
    weights = np.ones(60)
    models = [OnlineDSEKLRegressor(budget=20, random_state=0) for _ in range(2)]
    for row in range(60):
        part = slice(row, row + 1)
        models[0].partial_fit(X[part], TARGETS[part], weights[part])
        models[1].partial_fit(X[part], TARGETS[part])
    weights[:] = 7.0
    assert models[0].progressive_loss_ == models[1].progressive_loss_


def test_masses_stay_bounded() -> None:
    learner = Learner.start(Settings(RBF(), Hinge(), gamma=1.0, budget=5, half_life=None), 2, 1, 0)
    rng, masses = np.random.default_rng(1), np.full(200, 1000.0)  # as many rows as 200,000 of weight 1
    rows = rng.standard_normal((200, 2))
    y = np.where(rng.random((200, 1)) > 0.5, 1.0, -1.0)
    learner.learn(rows, y, masses, (y[:, 0] > 0).astype(np.int64))
    before = learner.buffer.parts.mass[0, :5].sum()
    n = dual_steps.MASS_HALF_LIFE
    learner.learn(np.zeros((n, 2)), np.ones((n, 1)), np.full(n, 1e-9), np.ones(n, dtype=np.int64))
    assert learner.buffer.parts.mass[0, :5].sum() == pytest.approx(0.5 * before, rel=1e-3)
