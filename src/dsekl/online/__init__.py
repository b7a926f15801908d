"""Kernel machines that learn one row at a time, on a budget, and forget.

``learner`` is the machine that estimators are made of, ``ascent`` its steps. The published algorithms stand beside it,
one file each, under the contract of ``published``.
"""

from .budget_perceptron import BudgetPerceptron
from .budgeted_sgd import BudgetedSGD
from .forgetron import Forgetron
from .learner import Learner
from .norma import Norma
from .projectron import Projectron
from .published import Published
from .stream_settings import Settings

__all__ = [
    "BudgetPerceptron",
    "BudgetedSGD",
    "Forgetron",
    "Learner",
    "Norma",
    "Projectron",
    "Published",
    "Settings",
]
