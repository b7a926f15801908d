"""Plain values between scikit-learn and the machine: what is fitted, how, and what comes out.

``fit(machine, examples, run)`` takes values and returns one, ``Fitted``. Whoever has no scikit-learn estimator in hand
(a stream, a cluster's worker, a test) makes a gram, trains and predicts with these few calls.
"""

from .examples import Examples
from .fitting import FitInterrupted, Fitted, fit
from .machine import Machine
from .model import Model

__all__ = ["Examples", "FitInterrupted", "Fitted", "Machine", "Model", "fit"]
