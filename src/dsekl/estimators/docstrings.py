"""Parameters and attributes that estimators share are described once, and stand in full in the docstring of each."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import TypeVar

Estimator = TypeVar("Estimator", bound=type)

PARAMETERS, ATTRIBUTES = "Parameters\n----------\n", "Attributes\n----------\n"
ALIKE = " : as in ``"
"""What an attribute says that another class describes."""


def with_parameters_of(other: type) -> Callable[[Estimator], Estimator]:
    """Describe what a class's docstring leaves out in the words of ``other``'s.

    These are the parameters that it does not have, and the attributes that are said to be "as in" the other.
    """

    def completed(estimator: Estimator) -> Estimator:
        if estimator.__doc__ and other.__doc__:  # python -OO leaves none
            doc, words = inspect.cleandoc(estimator.__doc__), inspect.cleandoc(other.__doc__)
            known = _entries(words, PARAMETERS) | _entries(doc, PARAMETERS)
            listed = [known[name] for name in inspect.signature(estimator).parameters if name in known]
            doc = _section(PARAMETERS).sub(lambda _: "\n".join(listed), doc, count=1)
            attributes = _attributes(_entries(doc, ATTRIBUTES), _entries(words, ATTRIBUTES))
            estimator.__doc__ = _section(ATTRIBUTES).sub(lambda _: "\n".join(attributes), doc, count=1)
        return estimator

    return completed


def _attributes(own: dict[str, str], known: dict[str, str]) -> list[str]:
    """Return the entries of attributes, with those of the other class where an entry refers to it."""
    described = {name: entry for names, entry in known.items() for name in names.split(", ")}
    listed: dict[str, None] = {}
    for names, entry in own.items():
        taken = [described[name] for name in names.split(", ")] if ALIKE in entry else [entry]
        listed |= dict.fromkeys(taken)
    return list(listed)


def _section(title: str) -> re.Pattern[str]:
    return re.compile(rf"(?<={title}).*?(?=\n\n\w[\w ]*\n---)", re.DOTALL)


def _entries(doc: str, title: str) -> dict[str, str]:
    """Return the entries of a section, by name."""
    section = _section(title).search(doc)
    entries = re.split(r"\n(?=\S)", section[0]) if section else []
    return {entry.split(" : ")[0]: entry for entry in entries}
