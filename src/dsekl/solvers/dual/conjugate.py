"""For the squared loss on a wide kernel: an epoch is one step of preconditioned conjugate gradients.

Blocks are solved one after the other, which costs a Cholesky factor each, and on a wide kernel they undo each other's
work. Here all rows move at once, along what the preconditioner (``nystroem.py``) makes of their residuals; the product
of the kernel matrix with that direction is an epoch's cost, in steps of some columns each. The move ends at the minimum
over the plane through the last epochs' coefficients (``acceleration.py``), whose span holds the conjugate direction.

Until its end an epoch moves nothing but the product, so the model of a run that is cut short is that of the epoch
before.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from dsekl.kernels import known_definite
from dsekl.losses.loss import over

from ..state import Floats
from .acceleration import is_resolved, remember
from .active_rows import ActiveRows
from .certificate import overflow
from .dual_state import DualPlan
from .nystroem import Nystroem

ROWS_A_LANDMARK, FEWEST_LANDMARKS, MOST_LANDMARKS = 32, 512, 1024
"""Rows for each landmark of the preconditioner, and the least and the most landmarks."""

PROBED = 256
"""Rows whose kernel values with each other tell how wide the kernel is."""

VISIBLE, WIDE = 1e-4, 0.1
"""Kernel value, over those of the rows with themselves, that couples two rows; share of such pairs of a wide kernel."""

MOST_EPOCHS = 50
"""Epochs on one sample: where the landmarks know too little, as with a large C, blocks go on from there."""


def is_wide(rows: ActiveRows, block_size: int) -> bool:
    """Tell whether conjugate gradients are the better way: many rows, most of which know of each other."""
    problem = rows.problem
    if len(rows.rows) <= block_size or not known_definite(problem.gram.kernel):
        return False
    if rows.state.conjugate_epochs == MOST_EPOCHS:
        return False
    probed = _first(rows, PROBED)
    K = rows.gram.block(probed, rows.rows[probed])
    size = np.sqrt(np.maximum(rows.diagonal[probed], 0.0))
    coupled = np.abs(K) > VISIBLE * size * size[:, None]
    return float(coupled.mean()) > WIDE and is_resolved(problem, rows.state)


def plan(rows: ActiveRows, block_size: int) -> DualPlan:
    """Return the plan of an epoch: the columns of each step, and the product so far."""
    n = len(rows.rows)
    ends = np.append(np.arange(block_size, n, block_size), n).astype(np.intp)
    f, image = rows.f.copy(), np.zeros_like(rows.f)
    return DualPlan(rows.state.coef.copy(), f=f, blocks=np.arange(n, dtype=np.intp), ends=ends, image=image)


def run(rows: ActiveRows, plan: DualPlan) -> Iterator[float]:
    """Take the steps that the plan has left, and move."""
    state, image = rows.state, plan.image
    assert image is not None
    direction = _direction(rows, begun=plan.done == 0)
    for done, block in list(enumerate(np.split(plan.blocks, plan.ends[:-1])))[plan.done :]:
        state.evaluations += rows.gram.add_product(rows.rows[block], direction[block], image)
        plan.done = done + 1
        state.step += 1
        yield plan.done / len(plan.ends)
    remember(state)
    state.coef[rows.rows] += direction
    rows.f += image
    rows.keep()
    state.conjugate_epochs += 1


def _direction(rows: ActiveRows, begun: bool) -> Floats:
    """Return the preconditioned residuals; the preconditioner is made once for a sample."""
    state, coef = rows.state, rows.state.coef[rows.rows]
    if state.preconditioner is None:
        n = min(MOST_LANDMARKS, max(FEWEST_LANDMARKS, len(rows.rows) // ROWS_A_LANDMARK))
        own = _first(rows, n)
        try:
            made = Nystroem.of(rows.gram, rows.rows[own], own, rows.C, rows.problem.workers)
        except LinAlgError as error:
            raise overflow(rows.problem) from error
        state.preconditioner = made
    found, evaluations = state.preconditioner.solve(rows.y - rows.f - coef * over(rows.C)[:, None])
    if begun:
        # A run that is taken up again makes both anew, and counts as the run that was never stopped does.
        state.evaluations += evaluations + (state.preconditioner.evaluations if state.past_coef is None else 0)
    return found


def _first(rows: ActiveRows, n: int) -> NDArray[np.intp]:
    """Return the rows, as numbers within the active set, that were the first to join it: a random sample."""
    return np.sort(np.argsort(rows.state.rank[rows.rows])[:n])
