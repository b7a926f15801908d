"""One problem in many parts: regions of space with copies of the rows around them, and dual ascent in all of them."""

from .ascent_in_parts import PartsAscent
from .build import Parts, build
from .cuts import Planes, n_parts_of
from .hands import Hands, OwnHands
from .local_updates import LocalUpdates, SharedUpdates
from .part import Part, Region, Rows, Task

__all__ = [
    "Hands",
    "LocalUpdates",
    "OwnHands",
    "Part",
    "Parts",
    "PartsAscent",
    "Planes",
    "Region",
    "Rows",
    "SharedUpdates",
    "Task",
    "build",
    "n_parts_of",
]
