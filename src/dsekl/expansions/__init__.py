"""What f is expanded in: ``f(x) = sum_j term_j(x) coef_j``.

The solvers see a ``Gram`` and never ask what its terms are, so the paper's comparison changes the expansion and nothing
else:

=================== ======================================= ==============================================
``Empirical``       a kernel function on every point        the paper's Emp; centres drawn afresh each step
``FixedSubset``     a kernel function on some points        the paper's Emp_Fix
``RandomFourier``   cosines at random frequencies           the paper's RKS, random kitchen sinks
=================== ======================================= ==============================================
"""

from __future__ import annotations

from dsekl.gram import Gram as Basis

from .empirical import Empirical, FixedSubset
from .expansion import Expansion
from .fourier import RandomFourier

__all__ = ["Basis", "Empirical", "Expansion", "FixedSubset", "RandomFourier", "resolve"]

_BY_NAME: dict[str, Expansion] = {
    "empirical": Empirical(),
    "fixed_subset": FixedSubset(),
    "random_fourier": RandomFourier(),
}


def resolve(expansion: str | Expansion) -> Expansion:
    """Return the expansion that a name or object stands for."""
    if isinstance(expansion, str):
        if expansion not in _BY_NAME:
            raise ValueError(f"expansion={expansion!r} is not known; choose one of {', '.join(sorted(_BY_NAME))}")
        return _BY_NAME[expansion]
    if not isinstance(expansion, Expansion):
        raise ValueError(
            f"expansion={expansion!r} must be one of {', '.join(sorted(_BY_NAME))}, or an object of dsekl.expansions"
        )
    return expansion
