"""How far predictions can be trusted, learned from rows that the model had not seen when it predicted them.

``unseen`` has such predictions as a value. Of them ``maps`` make probabilities, ``choice`` lets rows that are kept for
it decide between the maps, and ``intervals`` gives a range to each prediction of a regression.
"""

from .chosen_map import Calibration, calibrated, natural
from .intervals import Intervals, fit_intervals
from .unseen import Unseen

__all__ = ["Calibration", "Intervals", "Unseen", "calibrated", "fit_intervals", "natural"]
