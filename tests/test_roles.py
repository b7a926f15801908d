"""The role of each parameter, and that the table of roles tells the truth of files, checkpoints and warm starts."""

from __future__ import annotations

import inspect
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dsekl
from dsekl import DSEKLClassifier, DSEKLRegressor
from dsekl.estimators import files
from dsekl.runs import role as role_module
from dsekl.runs.role import Role
from dsekl.solvers import DoublyStochastic
from tests.problems import xor

X, y = xor(300, seed=0)
BASE: dict[str, Any] = dict(
    gamma=1.0, C=1.0, solver=DoublyStochastic(50, 50), max_epochs=2, random_state=0, checkpoint_interval=1000.0
)


def silent(report: Any) -> None:
    return None


OTHER: dict[str, Any] = dict(
    kernel="matern32", gamma=2.0, C=3.0, solver=DoublyStochastic(40, 60), expansion="fixed_subset", max_epochs=3,
    fit_intercept=True, trend=True, categorical_features=None, strict=True,
    max_seconds=1e4, tol=1e-9, early_stopping=True, validation_fraction=0.2, n_iter_no_change=3, n_jobs=2,
    random_state=1, verbose=False, warm_start=True, kernel_tol=1e-3, dtype="float32", memory_budget=128,
    checkpoint_interval=500.0, callbacks=[silent],
)  # fmt: skip
"""Another value of each parameter, but for the path of the checkpoint, which each test has of its own."""

OWN: dict[type, dict[str, Any]] = {
    DSEKLClassifier: dict(loss="squared_hinge", class_weight="balanced", objective="probabilities"),
    DSEKLRegressor: dict(loss="huber"),
}
PAIRS = [(kind, name) for kind in OWN for name in (*OTHER, *OWN[kind], "checkpoint")]
every_parameter = pytest.mark.parametrize(
    ("kind", "name"), PAIRS, ids=[f"{kind.__name__}-{name}" for kind, name in PAIRS]
)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def other_value(kind: Any, name: str, folder: Path) -> Any:
    return {**OTHER, **OWN[kind], "checkpoint": folder / "other.ckpt"}[name]


class Crash(Exception):
    pass


def crash(report: Any) -> None:
    raise Crash


@pytest.mark.parametrize("kind", OWN)
def test_every_parameter_has_a_role_and_another_value_here(kind: Any) -> None:
    assert list(kind._roles) == list(inspect.signature(kind).parameters) == list(kind._parameter_constraints)
    assert set(kind._roles) == {*OTHER, *OWN[kind], "checkpoint"}
    for name, value in kind().get_params(deep=False).items():
        assert {**BASE, name: BASE.get(name, value)}[name] != other_value(kind, name, Path("nowhere"))


def test_the_table_of_roles_is_what_the_roles_say() -> None:
    lines = (role_module.__doc__ or "").splitlines()
    spans = [found.span() for found in re.finditer("=+", next(line for line in lines if line.startswith("===")))]
    told = {}
    for line in lines:
        cells = [line[start:end].strip() for start, end in spans]
        if cells[0].isupper():
            told[cells[0]] = (cells[2] == "yes", cells[3] == "yes")
    assert told == {role.name: (role.in_file, role.in_identity) for role in Role}


@every_parameter
def test_a_file_keeps_what_its_role_says(kind: Any, name: str, tmp_path: Path) -> None:
    role, value = kind._roles[name], other_value(kind, name, tmp_path)
    model = kind(**{**BASE, name: value}).fit(X, y)
    model.save(tmp_path / "m.dsekl")
    assert (name in files.describe(tmp_path / "m.dsekl")["parameters"]) == role.in_file
    loaded = dsekl.load(tmp_path / "m.dsekl").get_params(deep=False)[name]
    default = inspect.signature(kind).parameters[name].default
    assert repr(loaded) == repr(value if role.in_file else default)


@every_parameter
def test_a_checkpoint_is_of_the_same_run_if_the_role_says_so(kind: Any, name: str, tmp_path: Path) -> None:
    role, value, path = kind._roles[name], other_value(kind, name, tmp_path), tmp_path / "run.ckpt"
    with pytest.raises(Crash):
        kind(**BASE, checkpoint=path, callbacks=[crash]).fit(X, y)
    assert (name in files.describe(path)["parameters"]) == role.in_identity
    if name == "checkpoint":
        shutil.copy(path, value)
    model = kind(**{**BASE, "checkpoint": path, name: value})
    if role.in_identity:
        with pytest.raises(ValueError, match=rf"differs in .*{name} \(was .*, is .*\)"):
            model.fit(X, y)
        return
    heard: list[int] = []
    model.set_params(callbacks=[lambda report: heard.append(report.record["epoch"])])
    model.fit(X, y)
    assert heard[0] == 2, "the first epoch was in the checkpoint"
    if name != "max_epochs":
        np.testing.assert_array_equal(model.dual_coef_, kind(**BASE).fit(X, y).dual_coef_)


@every_parameter
def test_a_warm_start_does_what_the_role_says(
    kind: Any, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "warm_start":
        pytest.skip("on another value there is no warm start to speak of; the next test has it")
    role, value = kind._roles[name], other_value(kind, name, tmp_path)
    adapted: list[Any] = []
    adapt = DoublyStochastic.adapt

    def counted(self: Any, problem: Any, state: Any) -> Any:
        adapted.append(state)
        return adapt(self, problem, state)

    monkeypatch.setattr(DoublyStochastic, "adapt", counted)
    model = kind(**BASE, warm_start=True).fit(X, y)
    assert model.n_iter_ == 2
    model.set_params(**{name: value})
    if role is Role.TERMS:
        with pytest.raises(ValueError, match=f"warm_start=True goes on from a fit that differs in {name}"):
            model.fit(X, y)
        return
    model.fit(X, y)
    assert model.n_iter_ == (5 if name == "max_epochs" else 4)
    assert len(adapted) == (role is Role.PROBLEM)


@pytest.mark.parametrize("kind", OWN)
def test_a_fit_without_warm_start_begins_anew(kind: Any) -> None:
    first = kind(**BASE, warm_start=True).fit(X, y)
    straight = first.dual_coef_.copy()
    again = first.set_params(warm_start=False).fit(X, y)
    assert again.n_iter_ == 2
    np.testing.assert_array_equal(again.dual_coef_, straight)


@pytest.mark.parametrize("changed", ["X", "y", "sample_weight"])
def test_data_have_roles_too(changed: str) -> None:
    """The rows make the terms, y and the weights the problem."""
    model = DSEKLClassifier(**BASE, warm_start=True).fit(X, y)
    if changed == "X":
        with pytest.raises(ValueError, match="differs in X"):
            model.fit(X + 1.0, y)
        return
    data = dict(y=-y) if changed == "y" else dict(y=y, sample_weight=np.linspace(0.5, 1.5, 300))
    assert model.fit(X, **data).n_iter_ == 4
