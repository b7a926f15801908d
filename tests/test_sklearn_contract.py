"""scikit-learn's own checks, for both estimators with every solver; a check that is excused has its reason here.

The checks meet the estimators more than the solvers: one of each kind runs in ``make test``, all settings of them in
``make test-all``.
"""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from dsekl import DSEKLClassifier, DSEKLRegressor
from dsekl.solvers import DualAscent
from tests.problems import different_solvers


def estimators(solvers: list[Any]) -> list[Any]:
    """Return both estimators with each solver."""
    return [kind(solver=solver, random_state=0) for kind in (DSEKLClassifier, DSEKLRegressor) for solver in solvers]


ONE_OF_EACH = list({type(solver): solver for solver in reversed(different_solvers())}.values())
OTHERS = [solver for solver in different_solvers() if all(repr(solver) != repr(one) for one in ONE_OF_EACH)]

RANDOM_STEPS = (
    "a row of weight 2 and two equal rows are drawn with the same probability, but not at the same steps, so the two "
    "fits differ by the noise of the steps"
)


WITHIN_THE_GAP = (
    "a row of weight 2 and two equal rows have the same optimum, but each fit stops within the tolerated duality gap "
    "of it and not at the same point; test_dual_ascent.py checks weights at a tight tolerance"
)


def _excused(estimator: Any) -> dict[str, str]:
    reason = WITHIN_THE_GAP if isinstance(estimator.solver, DualAscent) else RANDOM_STEPS
    return {
        "check_sample_weight_equivalence_on_dense_data": reason,
        "check_sample_weight_equivalence_on_sparse_data": reason,
    }


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:column .* varies:UserWarning")
@parametrize_with_checks(estimators(ONE_OF_EACH), expected_failed_checks=_excused)
def test_scikit_learn_accepts(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:column .* varies:UserWarning")
@parametrize_with_checks(estimators(OTHERS), expected_failed_checks=_excused)
def test_scikit_learn_accepts_other_settings(estimator: Any, check: Any) -> None:
    check(estimator)
