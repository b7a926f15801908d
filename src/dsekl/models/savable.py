"""The closed list of classes whose objects a file may hold, and parameters as texts that can be compared."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from dsekl import expansions, kernels, losses, persistence, solvers
from dsekl.rows import digest

SETTINGS: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        *(kernels.RBF, kernels.Laplacian, kernels.Matern, kernels.RationalQuadratic, kernels.Linear),
        *(kernels.Polynomial, kernels.Sigmoid, kernels.Chi2, kernels.Precomputed),
        *(losses.Hinge, losses.SquaredHinge, losses.Logistic, losses.Squared, losses.EpsilonInsensitive),
        *(losses.Huber, losses.Quantile),
        *(solvers.DualAscent, solvers.DoublyStochastic, solvers.SharedMemory),
        *(expansions.Empirical, expansions.FixedSubset, expansions.RandomFourier),
    )
}


def is_ours(thing: object) -> bool:
    """Tell whether an object is of a class in the list, and not of one derived from it."""
    return SETTINGS.get(type(thing).__name__) is type(thing)


def own_kernel_name(kernel: object) -> str | None:
    """Return what a user's own kernel is called, None for a kernel of dsekl's."""
    if isinstance(kernel, str) or is_ours(kernel):
        return None
    return kernels.name_of(kernel)


def text_of(value: object) -> str:
    """Return a parameter's value as a text; functions are told by name, random states by being one."""
    if isinstance(value, np.random.RandomState):
        return "a RandomState"
    arrays: dict[str, Any] = {}
    try:
        node = persistence.encode(value, "", arrays, SETTINGS)
    except ValueError:
        return _own_text(value)
    return " ".join([json.dumps(node), *(digest(array) for array in arrays.values())])


def _own_text(value: object) -> str:
    """Return the name of a user's own function or object, and the settings that it has."""
    try:
        settings = {} if callable(value) else vars(value)
    except TypeError:  # nothing that has settings
        settings = {}
    texts = [f"{name}={text_of(setting)}" for name, setting in sorted(settings.items()) if not callable(setting)]
    return " ".join([kernels.name_of(value), *texts])
