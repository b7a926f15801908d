"""The parameters of the estimators in one table: default, role and range of each.

``with_parameters`` gives an estimator its ``__init__``, its signature and scikit-learn's constraints from the table, so
that a parameter is written down once. What a role means for files, checkpoints and warm starts stands in
``runs/role.py``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from numbers import Integral, Real
from os import PathLike
from typing import Any, TypeVar

from sklearn.utils._param_validation import Interval, StrOptions

from dsekl.runs.role import Role

Estimator = TypeVar("Estimator", bound=type)


@dataclass(frozen=True)
class Parameter:
    """One parameter of an estimator; ``allowed`` are scikit-learn's constraints."""

    default: Any
    role: Role
    allowed: list[Any]


AUTO = "auto"


def is_auto(value: object) -> bool:
    """Tell whether a parameter is left to be chosen; others may be arrays, which compare otherwise."""
    return isinstance(value, str) and value == AUTO


# Names and objects are resolved by their own packages, whose errors list the known names.
ANYTHING = [object]
COUNT = Interval(Integral, 1, None, closed="left")
AT_LEAST_0 = Interval(Real, 0, None, closed="left")

SHARED: dict[str, Parameter] = {
    "kernel": Parameter(AUTO, Role.TERMS, ANYTHING),
    "gamma": Parameter(AUTO, Role.TERMS, ANYTHING),
    "loss": Parameter("auto", Role.PROBLEM, ANYTHING),
    "C": Parameter("auto", Role.PROBLEM, [Interval(Real, 0, None, closed="right"), StrOptions({"auto"})]),
    "solver": Parameter("dual", Role.PROBLEM, ANYTHING),
    "expansion": Parameter("empirical", Role.TERMS, ANYTHING),
    "strict": Parameter(False, Role.TERMS, ["boolean"]),
    "categorical_features": Parameter("from_dtype", Role.TERMS, ["array-like", StrOptions({"from_dtype"}), None]),
    "fit_intercept": Parameter("auto", Role.PROBLEM, ["boolean", StrOptions({"auto"})]),
    "trend": Parameter("auto", Role.PROBLEM, ["boolean", StrOptions({"auto"})]),
    "max_epochs": Parameter(100, Role.EFFORT, [COUNT]),
    "max_seconds": Parameter(None, Role.EFFORT, [Interval(Real, 0, None, closed="neither"), None]),
    "tol": Parameter(None, Role.COURSE, [AT_LEAST_0, None]),
    "early_stopping": Parameter(False, Role.TERMS, ["boolean"]),
    "validation_fraction": Parameter(0.1, Role.TERMS, [Interval(Real, 0, 1, closed="neither"), COUNT]),
    "n_iter_no_change": Parameter(5, Role.COURSE, [COUNT]),
    "n_jobs": Parameter(None, Role.EFFORT, [COUNT, Interval(Integral, None, -1, closed="right"), None]),
    "random_state": Parameter(None, Role.COURSE, ["random_state"]),
    "verbose": Parameter("auto", Role.EFFORT, ["verbose", StrOptions({"auto"})]),
    "warm_start": Parameter(False, Role.EFFORT, ["boolean"]),
    "kernel_tol": Parameter(1e-6, Role.TERMS, [Interval(Real, 0, 1, closed="left")]),
    "dtype": Parameter(AUTO, Role.TERMS, [StrOptions({"auto", "float32", "float64"})]),
    "memory_budget": Parameter(256, Role.COURSE, [COUNT]),
    "checkpoint": Parameter(None, Role.LOCAL, [str, PathLike, None]),
    "checkpoint_interval": Parameter(60.0, Role.LOCAL, [AT_LEAST_0]),
    "callbacks": Parameter(None, Role.LOCAL, [list, tuple, None]),
}


def table(loss: str, **own: Parameter) -> dict[str, Parameter]:
    """Return the shared parameters with an estimator's default loss, and its own parameters behind ``expansion``."""
    first = {**SHARED, "loss": replace(SHARED["loss"], default=loss)}
    names = list(first)
    place = names.index("expansion") + 1
    return {name: {**first, **own}[name] for name in [*names[:place], *own, *names[place:]]}


def with_parameters(parameters: Mapping[str, Parameter]) -> Callable[[Estimator], Estimator]:
    """Give a class its parameters: signature, ``__init__``, constraints and roles. The first may go by its place."""
    kinds = [inspect.Parameter.POSITIONAL_OR_KEYWORD, *[inspect.Parameter.KEYWORD_ONLY] * (len(parameters) - 1)]
    listed = [
        inspect.Parameter(name, kind, default=parameter.default)
        for (name, parameter), kind in zip(parameters.items(), kinds, strict=True)
    ]
    own_self = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = inspect.Signature([own_self, *listed])

    def __init__(self: Any, *args: Any, **settings: Any) -> None:
        try:
            given = signature.bind(self, *args, **settings)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}.__init__() {error}; see its docstring for the parameters") from None
        given.apply_defaults()
        vars(self).update({name: given.arguments[name] for name in parameters})

    def decorate(estimator: Estimator) -> Estimator:
        __init__.__qualname__ = f"{estimator.__qualname__}.__init__"
        __init__.__signature__ = signature  # type: ignore[attr-defined]
        estimator.__init__ = __init__  # type: ignore[misc]
        estimator._parameter_constraints = {name: parameter.allowed for name, parameter in parameters.items()}  # type: ignore[attr-defined]
        estimator._roles = {name: parameter.role for name, parameter in parameters.items()}  # type: ignore[attr-defined]
        return estimator

    return decorate
