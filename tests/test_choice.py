"""What held-out rows choose beside the weights: kernel, scale of columns, loss; and what must not change the choice."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_friedman1, make_moons
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

import dsekl
from dsekl import DSEKLClassifier, DSEKLRegressor, ModelFileError, gram
from dsekl.estimators.fitted import ATTRIBUTES
from dsekl.estimators.labels import wrong
from dsekl.kernels import Matern
from dsekl.losses import EpsilonInsensitive
from dsekl.metric import Data
from dsekl.metric.descent import Learner
from dsekl.metric.score import CLEAR, Found
from dsekl.models.machine import CHOSEN_KERNELS, CHOSEN_LOSSES
from dsekl.rows import ArrayRows, Reshaping, as_rows, store
from dsekl.rows.reshaping import RANKED, SQUASHED, ranked, squashed
from dsekl.runs import checkpoint
from dsekl.search import draw_splits
from dsekl.workers import ALONE


def codes_and_hours(n: int, seed: int) -> tuple[Any, Any]:
    """Two columns that matter, a weak signal with heavy tails, and codes with nearly all of the raw distance."""
    rng = np.random.default_rng(seed)
    hour, day = rng.integers(0, 24, n), rng.integers(0, 7, n)
    others = [rng.integers(0, 8500, n), rng.integers(1, 32, n), rng.exponential(300, n), 0.01 * rng.standard_normal(n)]
    y = 20 * np.sin(hour * np.pi / 12) * (1 + (day < 5)) + 10 * rng.standard_t(2.5, n)
    return np.column_stack([hour, day, *others]).astype(float), y


def overlapping(n: int, seed: int) -> tuple[Any, Any]:
    """Six classes of which none has a probability of one half."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 6, n)
    means = np.random.default_rng(0).normal(0, 0.7, (6, 3))
    return means[y] + rng.standard_normal((n, 3)), y


def test_the_columns_that_matter_are_found_on_every_seed() -> None:
    X, y = codes_and_hours(1200, 0)
    X_new, y_new = codes_and_hours(1200, 1)
    scores = []
    for seed in range(4):
        model = DSEKLRegressor(random_state=seed).fit(X, y)
        assert set(np.argsort(model.feature_importances_)[-2:]) == {0, 1}
        scores.append(model.score(X_new, y_new))
    assert min(scores) > max(scores) - 0.03


def test_a_permutation_of_rows_and_of_columns_gives_the_same_quality() -> None:
    X, y = codes_and_hours(1000, 0)
    X_new, y_new = codes_and_hours(1000, 1)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(1000), rng.permutation(6)
    plain = DSEKLRegressor(random_state=0).fit(X, y).score(X_new, y_new)
    mixed = DSEKLRegressor(random_state=0).fit(X[rows][:, columns], y[rows]).score(X_new[:, columns], y_new)
    assert mixed == pytest.approx(plain, abs=0.03)


def test_a_kernel_or_loss_that_is_named_is_kept() -> None:
    X, y = make_moons(200, noise=0.3, random_state=0)
    named = DSEKLClassifier("rbf", loss="squared_hinge", random_state=0).fit(X, y)
    assert (named.kernel_, named.loss_, named.scale_) == ("rbf", "squared_hinge", "raw")
    own = Matern(2.5)
    assert DSEKLClassifier(own, random_state=0).fit(X, y).kernel_ is own
    chosen = DSEKLClassifier(random_state=0).fit(X, y)
    assert chosen.kernel_ in ("matern32", "laplacian", "rbf")
    assert chosen.loss_ in ("hinge", "squared_hinge", "logistic")


@pytest.mark.parametrize("settings", [dict(gamma=1.0), dict(solver="doubly_stochastic", max_epochs=2), dict()])
def test_where_gamma_is_not_learned_auto_is_rbf_and_hinge(settings: dict[str, Any]) -> None:
    X, y = make_moons(150, noise=0.3, random_state=0)
    rows = X if settings else sparse.csr_array(X)
    automatic = DSEKLClassifier(random_state=0, **settings).fit(rows, y)
    named = DSEKLClassifier("rbf", loss="hinge", random_state=0, **settings).fit(rows, y)
    assert (automatic.kernel_, automatic.loss_) == ("rbf", "hinge")
    assert not hasattr(automatic, "scale_")
    np.testing.assert_array_equal(automatic.dual_coef_, named.dual_coef_)


def test_overlapping_classes_get_a_loss_that_can_rank_them() -> None:
    X, y = overlapping(1500, 1)
    X_new, y_new = overlapping(4000, 2)
    model = DSEKLClassifier(random_state=0).fit(X, y)
    logistic = DSEKLClassifier(loss="logistic", random_state=0).fit(X, y)
    assert model.score(X_new, y_new) > logistic.score(X_new, y_new) - 0.03


def rare_class(n: int, seed: int) -> tuple[Any, Any]:
    """A class of a twelfth of the rows, which are nowhere the more likely ones but at the far end of a column."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    return X, np.where(rng.random(n) < 1 / (1 + np.exp(3.0 - 1.2 * X[:, 0])), "yes", "no")


def test_a_rare_class_that_is_seldom_the_likelier_one_gets_a_loss_that_knows_its_probability() -> None:
    X, y = rare_class(900, 1)
    X_new, y_new = rare_class(4000, 2)
    model = DSEKLClassifier(random_state=0).fit(X, y)
    hinge = DSEKLClassifier(loss="hinge", random_state=0).fit(X, y)
    assert model.loss_ in ("squared_hinge", "logistic")
    found, before = (roc_auc_score(y_new == "yes", each.decision_function(X_new)) for each in (model, hinge))
    assert found > before + 0.02


def test_classes_that_are_told_apart_keep_the_hinge_however_rare() -> None:
    X, _ = rare_class(900, 1)
    assert DSEKLClassifier(random_state=0).fit(X, X[:, 0] > 1.3).loss_ == "hinge"


@pytest.mark.filterwarnings("ignore:not converged")  # what is compared is the choice
@pytest.mark.parametrize("unit", [1e-4, 1e5])
def test_robust_losses_do_not_depend_on_the_unit_of_y(unit: float) -> None:
    X, y = make_friedman1(250, 5, noise=0.5, random_state=0)

    def predicted(scale: float, loss: Any) -> Any:
        return DSEKLRegressor("rbf", loss=loss, max_epochs=20, random_state=0).fit(X, scale * y).predict(X) / scale

    np.testing.assert_allclose(predicted(unit, "quantile"), predicted(1.0, "quantile"), atol=0.15 * y.std())
    tube = EpsilonInsensitive(0.1 * unit)
    np.testing.assert_allclose(predicted(unit, tube), predicted(1.0, EpsilonInsensitive(0.1)), atol=0.15 * y.std())


def test_balanced_weights_raise_balanced_accuracy() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1600, 4))
    score = X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.7 * rng.standard_normal(1600)
    y = np.digitize(score, np.quantile(score, [0.9, 0.97]))
    plain = DSEKLClassifier(random_state=0).fit(X[:800], y[:800])
    balanced = DSEKLClassifier(class_weight="balanced", random_state=0).fit(X[:800], y[:800])
    before, after = (balanced_accuracy_score(y[800:], model.predict(X[800:])) for model in (plain, balanced))
    assert after > before + 0.02


def test_no_split_lacks_a_rare_class() -> None:
    classes = np.zeros(58_000, dtype=np.intp)
    classes[:10] = 1
    for n, count in [(58_000, 1), (600, 5), (600, 3)]:
        for held_out in draw_splits(n, 3_000, np.random.default_rng(0), classes[:n], count):
            kept = np.setdiff1d(np.arange(n), held_out)
            assert 1 <= classes[held_out].sum() <= 2
            assert classes[kept].sum() >= 8


def test_a_gain_is_told_with_its_weights() -> None:
    rng = np.random.default_rng(0)
    worse, better = rng.uniform(size=50), rng.uniform(size=50) - 0.2
    twice = np.concatenate([np.arange(50), np.arange(10)])
    weights = np.where(np.arange(50) < 10, 2.0, 1.0)
    by_weight = Found(0, 0, better, better, weights).gain_over(Found(0, 0, worse, worse, weights), robust=False)
    ones = np.ones(60)
    by_rows = Found(0, 0, better[twice], better[twice], ones).gain_over(
        Found(0, 0, worse[twice], worse[twice], ones), robust=False
    )
    assert by_weight.mean == pytest.approx(by_rows.mean)
    assert by_weight.standard_error > by_rows.standard_error


def test_labels_are_judged_alike_whatever_a_machine_was_fitted_by() -> None:
    """Machines of other losses and C have f of other sizes: errors and log losses are the same for all of them."""
    rng = np.random.default_rng(0)
    y = rng.choice([-1.0, 1.0], (200, 1))
    f = y + 1.5 * rng.standard_normal((200, 1))
    data = Data(ArrayRows(f), y, np.ones(200), wrong, (y[:, 0] > 0).astype(np.intp), ALONE)
    by_hinge, by_odds = (data.judged(np.arange(200), f * size, CHOSEN_LOSSES[name]) for size, name in
                         [(1.0, "hinge"), (16.0, "logistic")])  # fmt: skip
    np.testing.assert_allclose(by_hinge, by_odds)
    least = min(np.logaddexp(0, -slope * y * f).mean() for slope in np.linspace(0.1, 5.0, 50))
    assert least <= by_hinge[1].mean() < least + 0.02
    sure, surer = (data.judged(np.arange(200), y * size, CHOSEN_LOSSES["hinge"])[1] for size in (1.0, 1e6))
    np.testing.assert_array_equal(sure, surer)


def test_of_machines_with_the_same_errors_the_one_that_is_surer_where_it_is_right_ranks_better() -> None:
    errors, rng = np.repeat([0.0, 1.0], [90, 10]), np.random.default_rng(0)
    sure, unsure = errors + 0.1 * rng.uniform(size=100), errors + 0.3 + 0.1 * rng.uniform(size=100)
    better, worse = (Found(0, 0, errors, losses, np.ones(100)) for losses in (sure, unsure))
    assert better.rank < worse.rank
    assert better.gain_over(worse, robust=False).exceeds(CLEAR)
    assert better.saved_errors(worse).mean == 0.0
    assert worse.is_behind(better)


def brute_force(model: Any, X: Any, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    f, effects = model.predict(X), []
    for d in range(X.shape[1]):
        changed = X.copy()
        changed[:, d] = rng.permutation(X[:, d])
        effects.append(np.mean((model.predict(changed) - f) ** 2))
    return np.array(effects) / np.sum(effects)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly"])
def test_importances_are_how_much_each_column_moves_f(kernel: str) -> None:
    X, y = make_friedman1(400, 7, noise=0.1, random_state=0)
    model = DSEKLRegressor(kernel, gamma="scale", C=10.0, random_state=0).fit(X, y)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(model.feature_importances_, brute_force(model, X, 0), atol=0.05)
    in_a_sparse_matrix = DSEKLRegressor(kernel, gamma="scale", C=10.0, random_state=0).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(in_a_sparse_matrix.feature_importances_, model.feature_importances_, atol=1e-6)


def test_importances_of_few_rows_and_of_a_constant() -> None:
    X, y = make_friedman1(60, 5, random_state=0)
    assert DSEKLRegressor(random_state=0).fit(X, y).feature_importances_.sum() == pytest.approx(1.0)
    flat = DSEKLRegressor(gamma=1.0, random_state=0).fit(np.ones((60, 3)), y)
    np.testing.assert_array_equal(vars(flat).get("feature_importances_", np.zeros(3)), np.zeros(3))


@pytest.mark.parametrize("make", [squashed, ranked])
def test_reshaped_columns_ascend_and_have_no_heavy_tails(make: Any) -> None:
    rng = np.random.default_rng(0)
    heavy_columns = rng.standard_cauchy(3000), np.exp(3 * rng.standard_normal(3000))
    X = np.column_stack([*heavy_columns, rng.integers(0, 2, 3000), np.ones(3000)])
    reshaped = make(ArrayRows(X))(X)
    assert np.abs(reshaped).max() < 5
    for d in range(3):
        order = np.argsort(X[:, d], kind="stable")
        assert (np.diff(reshaped[order, d]) >= 0).all()
        assert len(np.unique(reshaped[:, d])) > 1


def test_reshaped_points_are_the_same_in_memory_and_in_a_file(tmp_path: Path) -> None:
    X = np.random.default_rng(0).standard_cauchy((2500, 3))
    np.save(tmp_path / "X.npy", X)
    stored = store(np.load(tmp_path / "X.npy", mmap_mode="r"))
    v = np.random.default_rng(1).standard_normal((2500, 1))
    products = []
    for rows in (as_rows(X), stored):
        matrix = gram.build(Matern(1.5), rows, 2.0, "float64", kernel_tol=1e-6, reshaping=ranked(ArrayRows(X)))
        out = np.empty((2500, 1))
        out[matrix.order] = matrix.product(slice(None), slice(None), v[matrix.order])
        products.append(out)
    np.testing.assert_array_equal(products[0], products[1])


def heavy() -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    Z = rng.standard_normal((600, 3))
    return np.sinh(4 * Z), Z[:, 0] * Z[:, 1] > 0


def test_heavy_tails_are_reshaped_and_the_file_keeps_it(tmp_path: Path) -> None:
    X, y = heavy()
    model = DSEKLClassifier(random_state=0).fit(X[:400], y[:400])
    assert model.scale_ in ("squashed", "ranked")
    plain = DSEKLClassifier("matern32", random_state=0).fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) >= plain.score(X[400:], y[400:])
    model.save(tmp_path / "m.dsekl")
    again = dsekl.load(tmp_path / "m.dsekl")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert (again.kernel_, again.loss_, again.scale_) == (model.kernel_, model.loss_, model.scale_)


@pytest.mark.parametrize(
    "knots",
    [np.array([[1.0, 0.0]]), np.array([[0.0, np.nan]]), np.array([0.0, 1.0]), np.zeros((2, 2))],
    ids=["descending", "not finite", "one axis", "too many columns"],
)
def test_a_reshaping_from_a_file_is_checked(knots: Any) -> None:
    with pytest.raises(ValueError, match="knots"):
        Reshaping("ranked", knots, np.zeros(knots.shape)).check(1)


def test_a_file_may_name_what_auto_chooses_from() -> None:
    assert set(get_args(ATTRIBUTES["kernel_"])) == set(CHOSEN_KERNELS)
    assert set(get_args(ATTRIBUTES["loss_"])) == set(CHOSEN_LOSSES)
    assert set(get_args(ATTRIBUTES["scale_"])) == {"raw", SQUASHED, RANKED}


class Crash(Exception):
    pass


def crash_after(steps: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let the descent fail after so many losses; count them."""
    seen, loss = [0], Learner._loss

    def counted(self: Learner, *sides: Any) -> Any:
        seen[0] += 1
        if seen[0] == steps:
            raise Crash
        return loss(self, *sides)

    monkeypatch.setattr(Learner, "_loss", counted)
    return seen


@pytest.mark.parametrize("steps", [30, 330, 570])
def test_a_run_that_ends_while_the_metric_is_learned_goes_on_from_there(
    steps: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    X, y = heavy()
    straight = DSEKLClassifier(random_state=0).fit(X[:300], y[:300])
    settings: dict[str, Any] = dict(checkpoint=tmp_path / "run.ckpt", checkpoint_interval=0.0, random_state=0)
    with monkeypatch.context() as patch:
        crash_after(steps, patch)
        with pytest.raises(Crash):
            DSEKLClassifier(**settings).fit(X[:300], y[:300])
    with monkeypatch.context() as patch:
        seen = crash_after(-1, patch)
        model = DSEKLClassifier(**settings).fit(X[:300], y[:300])
        going_on = seen[0]
    with monkeypatch.context() as patch:
        seen = crash_after(-1, patch)
        DSEKLClassifier(random_state=0).fit(X[:300], y[:300])
    assert going_on <= seen[0] - steps + 50
    np.testing.assert_array_equal(model.gamma_, straight.gamma_)
    np.testing.assert_array_equal(model.dual_coef_, straight.dual_coef_)
    assert (model.kernel_, model.scale_, model.loss_) == (straight.kernel_, straight.scale_, straight.loss_)


@pytest.mark.parametrize(
    "forged",
    [
        lambda stage: {**stage, "step": 10**6},
        lambda stage: {**stage, "log_gamma": np.full(3, 1e4)},
        lambda stage: {**stage, "mean": np.zeros(2)},
        lambda stage: {**stage, "square": np.array([0.0, np.nan, 0.0])},
        lambda stage: {"step": 1},
        lambda stage: "nothing",
    ],
)
def test_a_forged_stage_is_refused(forged: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    X, y = heavy()
    settings: dict[str, Any] = dict(checkpoint=tmp_path / "run.ckpt", checkpoint_interval=0.0, random_state=0)
    with monkeypatch.context() as patch:
        crash_after(50, patch)
        with pytest.raises(Crash):
            DSEKLClassifier(**settings).fit(X[:200], y[:200])
    run = checkpoint.read(settings["checkpoint"], 3)
    assert run is not None
    (name,) = [stage for stage in run.stages if stage.startswith("descent")]
    run.stages[name] = forged(run.stages[name])
    checkpoint.Checkpoint(settings["checkpoint"], 0.0, "DSEKLClassifier").write(run)
    with pytest.raises(ModelFileError, match="descent"):
        DSEKLClassifier(**settings).fit(X[:200], y[:200])
