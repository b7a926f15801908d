"""Kernel machines that learn one row at a time, on a budget, and forget.

``learner`` is the machine that estimators are made of, ``ascent`` its steps. The published algorithms stand beside it,
one file each.
"""

from .learner import Learner, Settings

__all__ = ["Learner", "Settings"]
