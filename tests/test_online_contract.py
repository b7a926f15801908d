"""scikit-learn's own checks for the online estimators; a check that is excused has its reason here."""

from __future__ import annotations

from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

from dsekl import OnlineDSEKLAnomaly, OnlineDSEKLClassifier, OnlineDSEKLRegressor

ESTIMATORS = [kind(random_state=0) for kind in (OnlineDSEKLClassifier, OnlineDSEKLRegressor, OnlineDSEKLAnomaly)]

ONE_ROW_AFTER_ANOTHER = "two equal rows are learned from one after the other, and one of weight 2 at once"


def _excused(estimator: Any) -> dict[str, str]:
    return {"check_sample_weight_equivalence_on_dense_data": ONE_ROW_AFTER_ANOTHER}


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=_excused)
def test_scikit_learn_accepts(estimator: Any, check: Any) -> None:
    check(estimator)
