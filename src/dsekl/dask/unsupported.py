"""Parameters that are not for a cluster: each is refused by its name, with what to do instead."""

from __future__ import annotations

from typing import Any

import numpy as np

from dsekl.estimators.kernel_estimator import KernelEstimator
from dsekl.kernels import Pairwise, VectorKernel
from dsekl.parts import LocalUpdates
from dsekl.solvers.solver import check_types


def local_of(estimator: Any) -> KernelEstimator:
    """Return the local estimator that resolves the parameters of one on a cluster; what has no answer is refused."""
    given = {name: getattr(estimator, name) for name in estimator._local_type._roles}
    if isinstance(estimator.solver, LocalUpdates):
        _check_updates(estimator, estimator.solver)
        given["solver"] = "dual"  # which resolves all else
    local: KernelEstimator = estimator._local_type(**given)
    if not local._exact or local.expansion != "empirical":
        raise ValueError(
            f"solver={estimator.solver!r} with expansion={estimator.expansion!r} is not for Dask; set solver='dual' or "
            "solver=LocalUpdates(), and expansion='empirical'"
        )
    kernel = local._kernel
    if not isinstance(kernel, VectorKernel) or kernel.pairwise in (Pairwise.OBJECTS, Pairwise.PRECOMPUTED):
        raise ValueError(
            f"kernel={estimator.kernel!r} compares no rows of numbers, which Dask's are; choose e.g. 'rbf'"
        )
    if not isinstance(estimator.C, str) and np.isinf(estimator.C):
        raise ValueError("C=inf is not for Dask: its certificate is no sum over rows; give a finite C, e.g. 1e6")
    return local


def _check_updates(estimator: Any, solver: LocalUpdates) -> None:
    """Refuse what the paper's Algorithm 2 has no answer to."""
    check_types(solver)
    solver.validate()
    for name in ("gamma", "C"):
        if isinstance(getattr(estimator, name), str):
            raise ValueError(
                f"{name}={getattr(estimator, name)!r} is chosen by exact fits, and solver={solver!r} makes none; give "
                "a number, e.g. that of a fit with solver='dual'"
            )
