"""How the reproduction judges: two-sided, by standard errors, like with like, and not where nothing was tested."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from dsekl.experiments import covertype, open_question, runner, speedup, table1
from dsekl.experiments.judging import EXACT, HIGHER, LEVEL, LOWER, Estimate, paired, side, slack, verdict
from dsekl.experiments.results import Row, Table
from dsekl.experiments.sections import AGREES, DIFFERS, NOT_TESTED, PARTLY
from dsekl.experiments.settings import Settings


def test_lower_is_a_difference_as_higher_is() -> None:
    theirs = Estimate.from_deviation(0.20, 0.02, 10)
    assert side(Estimate.from_deviation(0.15, 0.02, 10), theirs) == LOWER
    assert side(Estimate.from_deviation(0.25, 0.02, 10), theirs) == HIGHER
    assert side(Estimate.from_deviation(0.21, 0.02, 10), theirs) == LEVEL


def test_the_slack_is_that_of_means_and_not_of_single_runs() -> None:
    """Student's t of 9 degrees of freedom is 2.26; a tenth of the variance is the mean's."""
    one = Estimate.from_deviation(0.2, 0.1, 10)
    assert one.reach == pytest.approx(2.262 * 0.1 / math.sqrt(10), rel=1e-3)
    assert slack(one, EXACT, 0.005) == pytest.approx(one.reach + 0.005)
    assert slack(one, one) == pytest.approx(math.sqrt(2) * one.reach)
    assert Estimate.share(0.17, 1_122).reach == pytest.approx(1.96 * 0.0112, rel=1e-2)


def test_the_interval_holds_the_truth_in_nineteen_of_twenty_cases() -> None:
    rng = np.random.default_rng(0)
    held = [side(Estimate.of(rng.normal(0.3, 0.1, 3).tolist()), Estimate(0.3, 0.0)) == LEVEL for _ in range(2_000)]
    assert np.mean(held) == pytest.approx(0.95, abs=0.015)


def test_differences_are_paired_by_seed() -> None:
    lead = paired({0: 0.2, 1: 0.4, 2: 0.9}, {1: 0.3, 0: 0.1, 7: 0.0})
    assert (lead.value, lead.error) == pytest.approx((0.1, 0.0))
    assert side(lead, EXACT) == HIGHER


def test_one_repetition_judges_nothing() -> None:
    alone = Estimate.of([0.5])
    assert alone.reach == math.inf
    assert side(alone, EXACT) == LEVEL


def test_a_claim_of_several_parts_agrees_in_part() -> None:
    assert [verdict(parts) for parts in ([True, True], [True, False], [False, False])] == [AGREES, PARTLY, DIFFERS]


def test_a_better_error_than_the_papers_is_not_the_papers() -> None:
    """Mushrooms: 0.002 where the paper has 0.03 ± 0.01."""
    ours = {method: Estimate.from_deviation(0.002, 0.002, 10) for method in (table1.DSEKL, table1.BATCH)}
    outcome, sides = table1.judge(ours, "mushrooms")
    assert sides == {table1.DSEKL: LOWER, table1.BATCH: LEVEL}
    assert outcome == PARTLY


@pytest.mark.parametrize(
    ("validation", "evaluation", "outcome"),
    [
        (0.167, 0.143, PARTLY),  # level with the paper's 17 %, on rows that are harder than the other 20,000
        (0.167, 0.165, AGREES),
        (0.120, 0.165, DIFFERS),  # evaluation rows do not make up for validation rows
        (0.220, 0.220, DIFFERS),
    ],
)
def test_the_first_pass_compares_validation_with_validation(validation: float, evaluation: float, outcome: str) -> None:
    assert covertype.judge_first_pass(validation, evaluation) == outcome


def test_the_end_has_two_parts() -> None:
    assert covertype.judge_end(0.1334, stopped=True) == AGREES
    assert covertype.judge_end(0.0802, stopped=True) == PARTLY
    assert covertype.judge_end(0.1334, stopped=False) == PARTLY
    assert covertype.judge_end(0.0802, stopped=False) == DIFFERS


def test_few_cores_cannot_bear_out_a_claim_about_twenty() -> None:
    assert speedup.linear([0.9, 0.85], 2) == PARTLY
    assert speedup.linear([0.9, 0.85], 24) == AGREES
    assert speedup.linear([0.9, 0.75], 24) == DIFFERS
    assert speedup.linear([0.9, 1.3], 2) == NOT_TESTED


def sparse_table(folder: Path, batch: float, rks: float) -> Table:
    """Three repetitions at density 1, where all have 3 %, and at 0.1, where Emp_Fix has 10 %."""
    table = Table(folder / "a.csv", open_question.KEY)
    errors = {open_question.BATCH: batch, open_question.EMP_FIX: 0.10, open_question.RKS: rks}
    table.add(
        {"knob": "density", "value": value, "method": method, "seed": seed, "error": error + 0.001 * (-1) ** seed}
        for value in (1.0, 0.1)
        for seed in range(3)
        for method, error in ((method, errors[method] if value < 1 else 0.03) for method in errors)
    )
    return table


@pytest.mark.parametrize(
    ("batch", "rks", "outcome"), [(0.03, 0.05, AGREES), (0.03, 0.2, DIFFERS), (0.2, 0.05, NOT_TESTED)]
)
def test_sparse_rows_that_are_harder_for_every_method_test_nothing(
    tmp_path: Path, batch: float, rks: float, outcome: str
) -> None:
    assert open_question.judge_sparse(sparse_table(tmp_path, batch, rks)) == outcome


def _nothing(unit: Row) -> list[Row]:
    return [{**unit}]


def test_progress_is_lines_where_there_is_no_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    units: list[Row] = [{"n": n} for n in range(3)]
    runner.run_units("squares", Table(tmp_path / "a.csv", ("n",)), units, _nothing, Settings())
    assert capsys.readouterr().err == "", "a short run says nothing"
    monkeypatch.setattr(runner, "LINE_SECONDS", 0.0)
    runner.run_units("squares", Table(tmp_path / "b.csv", ("n",)), units, _nothing, Settings())
    assert capsys.readouterr().err.splitlines() == [f"squares: {n} of 3" for n in (1, 2, 3)]
