"""What f is expanded in: ``f(x) = sum_j basis_j(x) coef_j``.

The optimisers see a ``Basis`` and never ask what its terms are, so the paper's comparison changes the expansion
and nothing else:

=================== ======================================= ==========================================
``Empirical``       a kernel function on every point        the paper's Emp; cols drawn afresh each step
``FixedSubset``     a kernel function on some points        the paper's Emp_Fix
``RandomFourier``   cosines at random frequencies           the paper's RKS, random kitchen sinks
=================== ======================================= ==========================================
"""

from __future__ import annotations

from typing import Any

from .contract import Basis
from .empirical import Empirical, FixedSubset
from .fourier import RandomFourier

__all__ = ["Basis", "Empirical", "FixedSubset", "RandomFourier", "resolve"]

_BY_NAME: dict[str, Any] = {
    "empirical": Empirical(),
    "fixed_subset": FixedSubset(),
    "random_fourier": RandomFourier(),
}


def resolve(expansion: Any) -> Any:
    """Return the expansion that a name or object stands for."""
    if isinstance(expansion, str):
        if expansion not in _BY_NAME:
            raise ValueError(f"expansion={expansion!r} is not known; choose one of {', '.join(sorted(_BY_NAME))}")
        return _BY_NAME[expansion]
    if not hasattr(expansion, "expand"):
        raise ValueError(
            f"expansion={expansion!r} must be one of {', '.join(sorted(_BY_NAME))}, or an object of dsekl.expansions"
        )
    return expansion
