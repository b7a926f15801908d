"""What is fitted, what may be chosen for it, and how a choice is judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dsekl.deadline import NEVER, Deadline
from dsekl.kernels import VectorKernel
from dsekl.losses import Loss
from dsekl.losses.log_loss import log_losses
from dsekl.rows import DenseRows
from dsekl.workers import Workers

from .planes import NOTHING, Beside

Floats = NDArray[np.float64]

FAR_TARGETS = 0.005
"""Share of the targets on either side that the descent takes for as far out as the next one."""


SURE = 0.01
"""Log loss below which a row counts as sure: where classes are apart, ever larger C would make it ever smaller."""


@dataclass(frozen=True)
class Data:
    """Rows, targets and weights; ``classes`` are codes of the rows' classes, None for regression.

    ``errors(targets, predictions)`` says how wrong each held-out row is.
    """

    rows: DenseRows
    targets: Floats
    weights: Floats
    errors: Callable[[Floats, Floats], Floats]
    classes: NDArray[np.intp] | None
    workers: Workers
    kernel_tol: float = 1e-6
    budget: int = 2**28
    deadline: Deadline = NEVER
    """When the search ends with the best that it has found."""
    groups: NDArray[np.intp] | None = None
    """Features of one group share a weight; None gives each its own."""
    optional: NDArray[np.bool_] | None = None
    """Features that must earn their place, all together, by a lower error of held-out rows."""

    def __len__(self) -> int:
        return len(self.targets)

    @property
    def n_outputs(self) -> int:
        return int(self.targets.shape[1])

    def judged(self, held_out: NDArray[np.intp], f: Floats, loss: Loss) -> Floats:
        """Return three lines for held-out rows that are predicted as f: their errors, losses and weights.

        Classification losses are log losses, whatever a machine was fitted by: they say more than a count of wrong rows
        does, and mean the same for all machines.
        """
        y, weights = self.targets[held_out], self.weights[held_out]
        losses = loss.value(y, f).mean(axis=1) if self.classes is None else np.maximum(log_losses(y, f, weights), SURE)
        return np.stack([self.errors(y, f), losses, weights])

    def tied(self, values: Floats) -> Floats:
        """Return for each feature the mean over its group, of the features that are not 0."""
        if self.groups is None:
            return values
        counted = np.bincount(self.groups, values != 0)
        means = np.bincount(self.groups, values) / np.maximum(counted, 1)
        return np.where(values != 0, means[self.groups], 0.0)

    @cached_property
    def calm_targets(self) -> Floats:
        """Targets that no single row can dominate: those of regression, without their far tails."""
        if self.classes is not None:
            return self.targets
        return np.clip(self.targets, *np.quantile(self.targets, [FAR_TARGETS, 1 - FAR_TARGETS], axis=0))

    @cached_property
    def strata(self) -> NDArray[np.intp]:
        """Groups of rows that every split shares out evenly: the classes, or tenths of the first target."""
        if self.classes is not None:
            return self.classes
        order = np.argsort(np.argsort(self.targets[:, 0], kind="stable"), kind="stable")
        return np.asarray(order * 10 // max(1, len(self)), dtype=np.intp)


@dataclass(frozen=True)
class Options:
    """What may be chosen: kernels and losses by name, the usual one first; None for C lets the rows choose it."""

    kernels: Mapping[str, VectorKernel]
    losses: Mapping[str, Loss]
    C: float | None = None
    reshape: bool = False
    """Whether columns may be reshaped."""
    beside: Sequence[Beside] = (NOTHING,)
    """What may stand beside the kernel, the usual first."""

    @property
    def kernel(self) -> str:
        return next(iter(self.kernels))

    @property
    def loss(self) -> str:
        return next(iter(self.losses))


class Kept(Protocol):
    """What can be kept of a search: a dataclass that can be checked."""

    def check(self) -> None: ...


KeptThing = TypeVar("KeptThing", bound=Kept)


class Stages(Protocol):
    """Where a search keeps what it has found, so that it can go on from there."""

    def take(self, name: str, kind: type[KeptThing], sizes: Mapping[str, int]) -> KeptThing | None:
        """Return what was kept under a name, None for nothing."""

    def put(self, name: str, thing: Kept) -> None:
        """Keep something."""
