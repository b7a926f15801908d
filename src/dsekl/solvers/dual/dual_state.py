"""Where a run of dual ascent stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from ..state import Floats, Form, PerRow, Plan, State


@dataclass(kw_only=True)
class DualPlan(Plan):
    """The blocks of an epoch end to end, where each ends, and the predictions of the active rows at its start."""

    f: Annotated[Floats, Form(("any", "outputs"))]
    blocks: Annotated[NDArray[np.intp], Form(("any",), "intp", below="rows")]
    ends: Annotated[NDArray[np.intp], Form(("any",), "intp")]


@dataclass(kw_only=True)
class DualState(State):
    """The state of block dual ascent."""

    F: PerRow
    """The predictions K coef; out of date for rows that are not active."""
    C: float
    """The problem's, when the coefficients were last made to fit it."""
    rank: Annotated[NDArray[np.intp], Form(("rows",), "intp", below="rows")]
    """In which order the rows join the sample."""
    size: int
    """Rows in the sample: those of a lower rank."""
    active: Annotated[NDArray[np.bool_], Form(("rows",), "bool")]
    diagonal: Annotated[Floats, Form(("rows",))]
    """k(x, x) of each row."""
    scale: float
    """Mean size of a row's first step."""
    threshold: float
    """Violations that are left alone, as a share of the scale."""
    tolerated_share: float
    """Share of the rows leaving the active set in an epoch that may be wrong to do so."""
    gap: float = float("inf")
    """The relative duality gap: exact with all rows active, else an estimate; infinite while the sample grows."""
    exact_gap: float = 1.0
    """The gap when it was last exact."""
    primal: float = 0.0
    """The primal objective."""
    unseen_loss: float = 0.0
    """Mean loss of the rows that joined last, under the model before they joined."""
    past_coef: Annotated[Floats, Form(("any", "terms", "outputs"))] | None = None
    past_F: Annotated[Floats, Form(("any", "rows", "outputs"))] | None = None
    """Coefficients and predictions after the last epochs, for the acceleration."""
    plan: DualPlan | None = None

    def check(self) -> None:
        super().check()
        if not 1 <= self.size <= len(self.active):
            raise ValueError(f"the size is {self.size}, of {len(self.active)} rows")
        if self.plan is None:
            return
        n_active, ends, blocks = np.count_nonzero(self.active), self.plan.ends, self.plan.blocks
        if len(self.plan.f) != n_active or blocks.max(initial=-1) >= n_active:
            raise ValueError(f"the plan's f and blocks are not of {n_active} active rows")
        steps = np.diff(ends, prepend=0)
        if (steps < 0).any() or steps.sum() != len(blocks) or self.plan.done > len(ends):
            raise ValueError(f"the plan's ends do not cut {len(blocks)} rows into blocks")
