"""Losses: value and gradient for the primal, conjugate and one-coordinate step for the dual."""

from __future__ import annotations

import copy

from .loss import Box, BoxedLoss, HomogeneousLoss, Loss, RegressionLoss
from .margin import Hinge, Logistic, SquaredHinge
from .residual import EpsilonInsensitive, Huber, Quantile, Squared

__all__ = [
    "Box",
    "BoxedLoss",
    "EpsilonInsensitive",
    "Hinge",
    "HomogeneousLoss",
    "Huber",
    "Logistic",
    "Loss",
    "Quantile",
    "RegressionLoss",
    "Squared",
    "SquaredHinge",
    "resolve",
]

_BY_NAME: dict[str, Loss] = {
    "hinge": Hinge(),
    "squared_hinge": SquaredHinge(),
    "logistic": Logistic(),
    "squared": Squared(),
    "epsilon_insensitive": EpsilonInsensitive(),
    "huber": Huber(),
    "quantile": Quantile(),
}

_SHAPE_RANGES: dict[type, tuple[str, float, float, str]] = {
    EpsilonInsensitive: ("epsilon", 0.0, 1e300, "at least 0 and finite, e.g. 0.1"),
    Huber: ("delta", 1e-300, 1e300, "greater than 0 and finite, e.g. 1.0"),
    Quantile: ("quantile", 1e-12, 1 - 1e-12, "strictly between 0 and 1, e.g. 0.9"),
}


def resolve(loss: str | Loss, task: str) -> Loss:
    """Return the loss that a name or object stands for, if it suits the task."""
    suitable = sorted(name for name, known in _BY_NAME.items() if task in known.tasks)
    if isinstance(loss, str):
        if loss not in suitable:
            # "auto" is the classifier's word for a loss that the data choose.
            names = ["auto", *suitable] if task == "classification" else suitable
            raise ValueError(f"loss={loss!r} is not known for {task}; choose one of {', '.join(names)}")
        return _BY_NAME[loss]
    if task not in getattr(loss, "tasks", ()):
        raise ValueError(f"loss={loss!r} does not suit {task}; choose one of {', '.join(suitable)}, or such an object")
    if type(loss) in _SHAPE_RANGES:
        name, least, most, right = _SHAPE_RANGES[type(loss)]
        if not least <= loss.shape <= most:
            raise ValueError(f"{name}={loss.shape!r} of the {type(loss).__name__} loss must be {right}")
    unknown = [ability for ability in ("quadratic", "has_hard_form") if not hasattr(loss, ability)]
    if unknown:  # a loss of the user's own need not know of them
        loss = copy.copy(loss)
        for ability in unknown:
            object.__setattr__(loss, ability, False)
    return loss
