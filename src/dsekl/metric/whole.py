"""A candidate fitted whole: on all rows but those held out, by the solver that will fit the model."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dsekl import gram
from dsekl.search import Setting, others
from dsekl.search.regions import Places
from dsekl.solvers import DualAscent, Problem

from .data import Data
from .kind import Kind
from .planes import with_plane
from .score import Found

Floats = NDArray[np.float64]

MOST_EPOCHS = 20
"""Epochs of a fit that is only compared."""


def whole_fits(data: Data, splits: list[Places], kind: Kind, setting: Setting, C: float | None, seed: int) -> Found:
    """Return how a kind of machine does on the held-out rows of all splits, at one setting; a given C stays."""
    lines = [
        _held_out(data, part, kind, *kind.gamma_and_C(squared, setting, C), seed)
        for part, squared in zip(splits, kind.gammas[:-1], strict=True)
    ]
    errors, losses, weights = np.concatenate(lines, axis=1)
    return Found(*setting, errors, losses, weights)


def _held_out(data: Data, held_out: Places, kind: Kind, gamma: Floats, C: float, seed: int) -> Floats:
    """Return three lines: errors, losses and weights of the held-out rows of one split."""
    fitted = others(len(data), held_out)
    known = data.rows.without(held_out)
    rows = known.take(fitted)
    matrix = gram.build(
        kind.kernel, rows, gamma, "float32", data.budget, data.workers, data.kernel_tol,
        kind.reshaping,
    )  # fmt: skip
    matrix = with_plane(matrix, rows, kind.beside, kind.reshaping)
    order = fitted if matrix.order is None else fitted[matrix.order]
    problem = Problem(matrix, data.targets[order], data.weights[order], kind.loss, C, data.workers, None)
    solver = DualAscent()
    state = solver.start(problem, np.random.default_rng([seed, 11]))
    for _ in range(MOST_EPOCHS):
        for _ in solver.epoch(problem, state):
            pass
        if data.deadline.passed or solver.judge(problem, state).met:
            break
    coef = solver.coefficients(problem, state)
    f = matrix.at(known.take(held_out)).product(slice(None), slice(None), coef)
    return data.judged(held_out, f, kind.loss)
