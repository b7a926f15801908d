"""Kernels, one family a file. ``resolve`` turns a name, a callable or an object into a kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import ArrayLike

from .additive import Chi2
from .bandwidth import median_gamma, scale_gamma
from .custom import DotProduct, Radial
from .dot_product import Linear, Polynomial, Sigmoid
from .kernel import Definite, Pairwise, SpectralKernel, VectorKernel, known_definite
from .stationary import RBF, Laplacian, Matern, RationalQuadratic
from .structured import ObjectKernel, Precomputed

__all__ = [
    "RBF",
    "Chi2",
    "Definite",
    "DotProduct",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "ObjectKernel",
    "Pairwise",
    "Polynomial",
    "Precomputed",
    "Radial",
    "RationalQuadratic",
    "Sigmoid",
    "SpectralKernel",
    "VectorKernel",
    "known_definite",
    "median_gamma",
    "resolve",
    "scale_gamma",
]

Kernel = VectorKernel | ObjectKernel | Precomputed
"""Whatever compares two rows."""

KernelLike = str | Kernel | Callable[[Sequence[Any], Sequence[Any]], ArrayLike]
"""What a user may give as a kernel."""

_BY_NAME: dict[str, Kernel] = {
    "rbf": RBF(),
    "laplacian": Laplacian(),
    "matern12": Matern(0.5),
    "matern32": Matern(1.5),
    "matern52": Matern(2.5),
    "rational_quadratic": RationalQuadratic(),
    "linear": Linear(),
    "poly": Polynomial(),
    "polynomial": Polynomial(),
    "sigmoid": Sigmoid(),
    "chi2": Chi2(),
    "precomputed": Precomputed(),
}


def name_of(kernel: object) -> str:
    """Return what a kernel is called: the name of its function where it has one."""
    function = getattr(kernel, "function", kernel)
    name = getattr(function, "__qualname__", type(function).__name__)
    return name if function is kernel else f"{type(kernel).__name__}({name})"


def resolve(kernel: KernelLike) -> Kernel:
    """Return the kernel that a name, a kernel object or a Python callable stands for."""
    if isinstance(kernel, str):
        if kernel not in _BY_NAME:
            # "auto" is the estimators' word for a kernel that the data choose.
            raise ValueError(f"kernel={kernel!r} is not known; choose one of {', '.join(sorted(['auto', *_BY_NAME]))}")
        return _BY_NAME[kernel]
    if isinstance(kernel, VectorKernel | ObjectKernel | Precomputed):
        return kernel
    if callable(kernel):
        return ObjectKernel(kernel)
    raise ValueError(
        f"kernel={kernel!r} must be a name, a kernel object from dsekl.kernels, or a function of two sequences "
        "that returns their kernel block"
    )
