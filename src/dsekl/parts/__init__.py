"""One problem in many parts: regions of space with copies of the rows around them, and dual ascent in all of them."""

from .ascent_in_parts import PartsAscent
from .build import Parts, build
from .cuts import Planes, n_parts_of
from .executor import Executor, SerialExecutor
from .local_updates import LocalUpdates, SharedUpdates
from .part import Objective, Part, Region, Rows

__all__ = [
    "Executor",
    "LocalUpdates",
    "Objective",
    "Part",
    "Parts",
    "PartsAscent",
    "Planes",
    "Region",
    "Rows",
    "SerialExecutor",
    "SharedUpdates",
    "build",
    "n_parts_of",
]
