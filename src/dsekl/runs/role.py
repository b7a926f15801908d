"""What a parameter of an estimator means for its files and its runs, in one place.

========= ==================================== ============== =================== ======================
role      what it decides                      in model files in the run's        a warm start on
                                                              identity            another value
========= ==================================== ============== =================== ======================
TERMS     the terms and rows of the model      yes            yes                 is refused
PROBLEM   what is minimised, and how           yes            yes                 adapts the state
COURSE    how the run goes on from where it is yes            yes                 goes on
EFFORT    how long, by whom, and how loudly    yes            no                  goes on
LOCAL     this run on this machine alone       no             no                  goes on
========= ==================================== ============== =================== ======================

A run may go on from a checkpoint only if its identity is the same.
"""

from __future__ import annotations

from enum import Enum


class Role(Enum):
    """The role of a parameter."""

    TERMS = "terms"
    PROBLEM = "problem"
    COURSE = "course"
    EFFORT = "effort"
    LOCAL = "local"

    @property
    def in_file(self) -> bool:
        """Whether a model file keeps the parameter."""
        return self is not Role.LOCAL

    @property
    def in_identity(self) -> bool:
        """Whether runs that differ in the parameter are different runs."""
        return self in (Role.TERMS, Role.PROBLEM, Role.COURSE)
