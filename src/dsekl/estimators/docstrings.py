"""Parameters that estimators share are described once, and stand in full in the docstring of each."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import TypeVar

Estimator = TypeVar("Estimator", bound=type)

SECTION = re.compile(r"(?<=Parameters\n----------\n).*?(?=\n\n\w+\n---)", re.DOTALL)


def with_parameters_of(other: type) -> Callable[[Estimator], Estimator]:
    """Describe the parameters that a class's docstring leaves out in the words of ``other``'s."""

    def completed(estimator: Estimator) -> Estimator:
        if estimator.__doc__ and other.__doc__:  # python -OO leaves none
            doc = inspect.cleandoc(estimator.__doc__)
            known = _entries(inspect.cleandoc(other.__doc__)) | _entries(doc)
            listed = [known[name] for name in inspect.signature(estimator).parameters if name in known]
            estimator.__doc__ = SECTION.sub(lambda _: "\n".join(listed), doc, count=1)
        return estimator

    return completed


def _entries(doc: str) -> dict[str, str]:
    """Return the entries of the section "Parameters", by name."""
    section = SECTION.search(doc)
    entries = re.split(r"\n(?=\S)", section[0]) if section else []
    return {entry.split(" : ")[0]: entry for entry in entries}
