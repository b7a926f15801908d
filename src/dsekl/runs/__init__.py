"""A run: epochs until something ends them, progress, history, Ctrl-C, checkpoints, and going on from one."""

from .course import Course, Work
from .interrupts import HeldInterrupts, Interrupted
from .loop import Hooks, optimise
from .monitor import ErrorMeasure, Monitor, Units, Validation
from .progress import Progress
from .run import Run, Settled, Stopping
from .stages import Stages

__all__ = [
    "Course", "ErrorMeasure", "HeldInterrupts", "Hooks", "Interrupted", "Monitor", "Progress", "Run", "Settled",
    "Stages", "Stopping", "Units", "Validation", "Work", "optimise",
]  # fmt: skip
