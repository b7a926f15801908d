"""What must not matter, does not; the bounds are those of the page on reproducibility."""

from __future__ import annotations

import re

import numpy as np
import pytest

from dsekl.models import Examples
from dsekl.rows import as_rows
from tests.invariance import CHANGES, LOSSES, PAGE, Change, difference

BOTH = [(change, kind) for change in CHANGES for kind in change.kinds]
NAMES = [f"{change.name}, {kind}" for change, kind in BOTH]


@pytest.mark.parametrize(("change", "kind"), BOTH, ids=NAMES)
def test_with_gamma_and_C_given_f_is_the_same(change: Change, kind: str) -> None:
    for name in ("squared", "epsilon_insensitive", "quantile", "hinge"):
        if name in LOSSES[kind]:
            assert difference(change, kind, LOSSES[kind][name], learned=False, seed=0) <= change.given


@pytest.mark.parametrize(("change", "kind"), BOTH, ids=NAMES)
def test_with_all_learned_the_model_is_the_same_or_as_good(change: Change, kind: str) -> None:
    loss = "squared" if kind == "regression" else "hinge"
    assert difference(change, kind, LOSSES[kind][loss], learned=True, seed=0) <= change.learned


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:not converged")
@pytest.mark.parametrize(("change", "kind"), BOTH, ids=NAMES)
@pytest.mark.parametrize("seed", [1, 2])
def test_the_same_for_every_loss(change: Change, kind: str, seed: int) -> None:
    for loss in LOSSES[kind].values():
        assert difference(change, kind, loss, learned=False, seed=seed) <= change.given
        assert difference(change, kind, loss, learned=True, seed=seed) <= change.learned


@pytest.mark.filterwarnings("ignore:not converged")
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "huber", "quantile"])
@pytest.mark.parametrize(
    "change", [change for change in CHANGES if "y times" in change.name], ids=lambda change: change.name
)
def test_robust_losses_know_no_unit_of_y(loss: str, change: Change) -> None:
    """By name too, where their parameter is a share of the spread of y."""
    assert difference(change, "regression", loss, learned=True, seed=0) <= change.learned


def test_the_page_has_a_line_with_the_bounds_of_each_change() -> None:
    cells = [re.split(r" *\| *", line.strip("| ")) for line in PAGE.read_text().splitlines() if line.startswith("|")]
    found = {line[0]: (float(line[2]), float(line[4])) for line in cells if line[0] in [c.name for c in CHANGES]}
    assert found == {change.name: (change.given, change.learned) for change in CHANGES}


def test_a_search_sees_copies_as_one_row_and_observations_as_they_are() -> None:
    X = np.array([[0.0, 1.0], [2.0, 3.0], [0.0, 1.0], [4.0, 5.0], [4.0, 5.0], [-0.0, 1.0]])
    y = np.array([1.0, 1.0, 1.0, 1.0, -1.0, 1.0])[:, None]
    seen = Examples.of(as_rows(X), y, np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])).for_search()
    found = {(*row, float(target[0])): weight for row, target, weight in
             zip(seen.rows[:].tolist(), seen.targets, seen.weights.tolist(), strict=True)}  # type: ignore[index]  # fmt: skip
    assert found == {(0.0, 1.0, 1.0): 10.0, (2.0, 3.0, 1.0): 2.0, (4.0, 5.0, 1.0): 4.0, (4.0, 5.0, -1.0): 5.0}


def test_a_search_sees_rows_in_an_order_that_rows_columns_and_units_do_not_change() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 3)), rng.standard_normal((50, 1))
    order = rng.permutation(50)
    one = Examples.of(as_rows(X), y).for_search()
    two = Examples.of(as_rows((X * [1e-3, 1.0, 1e4])[order][:, [2, 0, 1]]), y[order]).for_search()
    np.testing.assert_array_equal(one.targets, two.targets)
    np.testing.assert_array_equal(one.places, order[two.places])
