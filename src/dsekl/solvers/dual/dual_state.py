"""Where a run of dual ascent stands."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dsekl.sampling import is_permutation

from ..solver import Problem, Solver
from ..state import (
    INFINITY,
    Count,
    Finite,
    Floats,
    Form,
    NotNegative,
    PerRow,
    Plan,
    PositiveOrInfinite,
    Range,
    Share,
    State,
)
from .nystroem import Nystroem

MEMORY = 6
"""Past epochs that are kept, each the size of coef and F."""

NEAR = 1e-3
"""Share by which kernel values may lie apart on two machines, and sums of them above what they can be."""


@runtime_checkable
class InBlocks(Protocol):
    """A solver that holds the kernel values of so many rows with each other."""

    block_size: int


@dataclass(kw_only=True)
class DualPlan(Plan):
    """The blocks of an epoch end to end, where each ends, and the predictions of the active rows at its start."""

    f: Annotated[Floats, Form(("any", "outputs"))]
    blocks: Annotated[NDArray[np.intp], Form(("any",), "intp", below="rows")]
    ends: Annotated[NDArray[np.intp], Form(("any",), "intp")]
    image: Annotated[Floats, Form(("any", "outputs"))] | None = None
    """Where all rows move at once: the kernel matrix times their direction, of the columns of the steps done."""


@dataclass(kw_only=True)
class DualState(State):
    """The state of block dual ascent."""

    F: PerRow
    """The predictions K coef; out of date for rows that are not active."""
    C: PositiveOrInfinite
    """The problem's, when the coefficients were last made to fit it."""
    rank: Annotated[NDArray[np.intp], Form(("rows",), "intp", below="rows")]
    """In which order the rows join the sample."""
    size: Count
    """Rows in the sample: those of a lower rank."""
    active: Annotated[NDArray[np.bool_], Form(("rows",), "bool")]
    diagonal: Annotated[Floats, Form(("rows",))]
    """k(x, x) of each row."""
    scale: NotNegative
    """Mean size of a row's first step."""
    threshold: Share
    """Violations that are left alone, as a share of the scale."""
    tolerated_share: Share
    """Share of the rows leaving the active set in an epoch that may be wrong to do so."""
    gap: Annotated[float, Range(most=INFINITY)] = INFINITY
    """The relative duality gap: exact with all rows active, else an estimate; infinite while the sample grows."""
    exact_gap: Finite = 1.0
    """The gap when it was last exact."""
    slow: Count = 0
    """Epochs in a row that lowered the gap by little, up to the last."""
    primal: Finite = 0.0
    """The primal objective."""
    unseen_loss: NotNegative = 0.0
    """Mean loss of the rows that joined last, under the model before they joined."""
    waited: Count = 0
    """Further epochs that the last sample was given before it was doubled."""
    conjugate_epochs: Count = 0
    """Epochs of conjugate gradients on this sample."""
    newcomers: Annotated[NDArray[np.intp], Form(("any",), "intp", below="rows")] | None = None
    newcomers_F: Annotated[Floats, Form(("any", "outputs"))] | None = None
    """Rows that joined last, and their predictions by the model that had not seen them."""
    past_coef: Annotated[Floats, Form(("any", "terms", "outputs"))] | None = None
    past_F: Annotated[Floats, Form(("any", "rows", "outputs"))] | None = None
    """Coefficients and predictions after the last epochs, for the acceleration."""
    plan: DualPlan | None = None
    preconditioner: Nystroem | None = field(default=None, repr=False, metadata={"saved": False})
    """What conjugate gradients on these rows have made; the same is made again where it is not kept."""

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "preconditioner": None}

    def check(self, problem: Problem, solver: Solver[Any]) -> None:
        super().check(problem, solver)
        n = len(self.active)
        if problem.C != self.C:
            raise ValueError(f"the state's C is {self.C!r}, and the problem's is {problem.C!r}")
        if not is_permutation(self.rank, n) or not 1 <= self.size <= n:
            raise ValueError(f"the state's rank and size {self.size} are no sample of {n} rows")
        if (self.active & (self.rank >= self.size)).any():
            raise ValueError("the state's active rows are not all in the sample")
        if (self.newcomers is None) != (self.newcomers_F is None) or (
            self.newcomers is not None and self.newcomers_F is not None and len(self.newcomers) != len(self.newcomers_F)
        ):
            raise ValueError("the state's newcomers do not fit their predictions")
        self._check_numbers(problem)
        lengths = {0 if past is None else len(past) for past in (self.past_coef, self.past_F)}
        if len(lengths) > 1 or max(lengths) > MEMORY:
            raise ValueError(f"the state's past_coef and past_F are not of up to {MEMORY} epochs")
        if self.plan is not None:
            self._check_plan(self.plan, solver.block_size if isinstance(solver, InBlocks) else n)

    def _check_numbers(self, problem: Problem) -> None:
        """Check what coefficients and predictions can be, without a product with the kernel matrix."""
        diagonal = problem.gram.diagonal()
        if not np.allclose(self.diagonal, diagonal, rtol=NEAR, atol=NEAR * np.abs(diagonal).max()):
            raise ValueError("the state's diagonal is not k(x, x) of these rows")
        C = problem.C * problem.weights[:, None]
        if not np.isfinite(problem.loss.conjugate(problem.targets, (1.0 - 1e-6) * self.coef, C)).all():
            raise ValueError("the state's coef holds numbers that the dual of this problem does not allow")
        # Cauchy and Schwarz: k(x, z)^2 is at most k(x, x) k(z, z).
        size = np.sqrt(np.abs(diagonal))[:, None]
        largest = (1.0 + NEAR) * size * (size * np.abs(self.coef)).sum(axis=0)
        if (np.abs(self.F) > largest + NEAR)[self.active].any():
            raise ValueError("the state's F holds predictions that its coefficients cannot give")

    def _check_plan(self, plan: DualPlan, block_size: int) -> None:
        n_active, ends, blocks = np.count_nonzero(self.active), plan.ends, plan.blocks
        if plan.image is not None and plan.image.shape != plan.f.shape:
            raise ValueError(f"the plan's image is not of {n_active} active rows")
        if len(plan.f) != n_active or blocks.max(initial=-1) >= n_active or len(np.unique(blocks)) < len(blocks):
            raise ValueError(f"the plan's f and blocks are not of {n_active} active rows")
        steps = np.diff(ends, prepend=0)
        if (steps < 0).any() or ends.max(initial=0) != len(blocks) or plan.done > len(ends):
            raise ValueError(f"the plan's ends do not cut {len(blocks)} rows into blocks")
        if steps.max(initial=0) > block_size:
            raise ValueError(f"the plan's blocks are larger than block_size={block_size}")
