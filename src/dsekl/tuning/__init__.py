"""The search for gamma and C: candidates are compared at full density, the better ones on more of the data."""

from .candidate import Candidate
from .halving import Outcome, Tuned, tune
from .journal import JournalFileError

__all__ = ["Candidate", "JournalFileError", "Outcome", "Tuned", "tune"]
