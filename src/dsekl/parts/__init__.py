"""One problem in many parts: regions of space with copies of the rows around them, and dual ascent in all of them."""

from .ascent import PartsAscent
from .build import Parts, build
from .hands import Hands, OwnHands
from .part import Part, Region, Rows, Task
from .planes import Planes, n_parts_of

__all__ = [
    "Hands",
    "OwnHands",
    "Part",
    "Parts",
    "PartsAscent",
    "Planes",
    "Region",
    "Rows",
    "Task",
    "build",
    "n_parts_of",
]
