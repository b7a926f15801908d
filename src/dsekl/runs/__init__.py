"""A run: epochs until something ends them, progress, history, Ctrl-C, checkpoints, and going on from one."""

from .loop import Hooks, optimise
from .monitor import ErrorMeasure, Monitor, Validation
from .progress import Progress
from .run import Run, Settled, Stopping
from .stages import Stages

__all__ = [
    "ErrorMeasure",
    "Hooks",
    "Monitor",
    "Progress",
    "Run",
    "Settled",
    "Stages",
    "Stopping",
    "Validation",
    "optimise",
]
