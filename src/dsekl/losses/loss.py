"""What a loss tells the solvers.

The primal problem is ``1/2 |f|^2 + sum_i C_i loss(y_i, f(x_i))`` with the norm of the kernel's space. Its dual is
``min over coef of 1/2 coef' K coef + sum_i conjugate(y_i, coef_i, C_i)``, where ``conjugate(y, c, C)`` is the
convex conjugate of ``C loss(y, .)`` at ``-c``. Solvers on the primal need ``value`` and ``gradient``; solvers on
the dual need ``conjugate`` and ``dual_step``.

Everything is elementwise and nothing reduces: sums, weights and averages belong to the caller.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def over(C: Array) -> Array:
    """Return 1 / C, and 0 for rows that count nothing."""
    return np.divide(1.0, C, out=np.zeros_like(C), where=C > 0)


@runtime_checkable
class Loss(Protocol):
    """A convex loss of a target ``y`` and a prediction ``f``, arrays of one shape."""

    tasks: ClassVar[tuple[str, ...]]
    """``"classification"`` (y is -1 or 1) and ``"regression"``, where the loss makes sense."""

    curvature: ClassVar[float]
    """The greatest second derivative in ``f`` away from kinks."""

    quadratic: ClassVar[bool] = False
    """True where the dual of a block is a linear system, solved at once: the squared loss."""

    has_hard_form: ClassVar[bool] = False
    """True where ``C = inf`` is a problem of its own, of the least f that no row loses by."""

    settled_gap: ClassVar[float]
    """The relative duality gap under which the error on new rows no longer falls (docs/design/solvers.md)."""

    @property
    def shape(self) -> float:
        """The loss's own parameter, or 0: what ``dual_step`` gets as ``shape``."""
        return 0.0

    def value(self, y: Array, f: Array) -> Array:
        """Return ``loss(y, f)``."""

    def gradient(self, y: Array, f: Array) -> Array:
        """Return the derivative in ``f``; at a kink, one of the subgradients."""

    def conjugate(self, y: Array, coef: Array, C: Array | float) -> Array:
        """Return ``(C loss(y, .))*(-coef)``, infinite where ``coef`` is not feasible."""

    def dual_step(self) -> Any:
        """Return the Numba function ``(y, coef, f, diagonal, C, shape) -> new coef``.

        It minimises ``1/2 diagonal (c - coef)^2 + f (c - coef) + conjugate(y, c, C)`` over ``c``: the dual along
        one coordinate, whose kernel value with itself is ``diagonal`` and whose prediction is ``f``.
        """


@dataclass(frozen=True)
class Box:
    """What a conjugate is made of: ``-y c + margin |c| + ridge/2 c^2`` for ``lo <= c <= hi``, and infinite beyond.

    ``lo``, ``hi`` and ``ridge`` have one number for each row. Rows with C = 0 have no room between ``lo`` and ``hi``.
    """

    margin: float
    ridge: Array
    lo: Array
    hi: Array


@runtime_checkable
class BoxedLoss(Loss, Protocol):
    """A loss whose conjugate is quadratic on an interval, with at most one kink, at 0; finite where C is."""

    def box(self, y: Array, C: Array) -> Box:
        """Return what the conjugate is made of, for targets and factors of some rows."""


@runtime_checkable
class RegressionLoss(Loss, Protocol):
    """A loss of real targets."""

    def best_constant(self, y: Array, weights: Array) -> float:
        """Return the regressor's intercept: where the weighted sum of losses is least, the middle if it is so on an
        interval."""


@runtime_checkable
class HomogeneousLoss(RegressionLoss, Protocol):
    """A loss of real targets that knows what their unit means to it."""

    degree: ClassVar[int]
    """The power of the unit that the loss has: 2 for squares, 1 for absolute values."""

    def in_unit(self, unit: float) -> Self:
        """Return the loss of targets divided by ``unit``: ``loss(y, f) = unit^degree in_unit(unit).loss(y', f')``."""
