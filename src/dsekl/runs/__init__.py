"""A run: epochs until something ends them, progress, history, Ctrl-C, checkpoints, and going on from one."""

from .interrupts import Interrupted
from .loop import Hooks, optimise
from .monitor import ErrorMeasure, Monitor, Validation
from .progress import Progress
from .run import Run, Settled, Stopping

__all__ = [
    "ErrorMeasure", "Hooks", "Interrupted", "Monitor", "Progress", "Run", "Settled", "Stopping", "Validation",
    "optimise",
]  # fmt: skip
