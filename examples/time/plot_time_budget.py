"""
A time budget
=============

``max_seconds`` bounds the whole fit: the search for feature weights, kernel width and C, and the
solver. The fit ends in time with the best model that it has found.
"""

import time

import matplotlib.pyplot as plt
from sklearn.datasets import make_friedman1
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import train_test_split

from dsekl import DSEKLRegressor

# %%
# One problem, four budgets
# -------------------------
# The target depends on five columns of twenty, and has noise of standard deviation 1. What a budget
# buys depends on the machine; ``stop_reason_`` tells whether it ended the fit. One fit is made
# before, so that compiling is not counted.

X, y = make_friedman1(3_000, n_features=20, noise=1.0, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
DSEKLRegressor(max_seconds=1, random_state=0).fit(X_train, y_train)

budgets = ("0.3", "1", "3", "no limit")
errors, taken = [], []
for budget in budgets:
    seconds = None if budget == "no limit" else float(budget)
    start = time.perf_counter()
    model = DSEKLRegressor(max_seconds=seconds, random_state=0).fit(X_train, y_train)
    taken.append(time.perf_counter() - start)
    errors.append(root_mean_squared_error(y_test, model.predict(X_test)))
    print(
        f"{budget:>8}: {taken[-1]:5.2f} s, RMSE {errors[-1]:.2f}, weights {model.metric_}, "
        f"stopped by {model.stop_reason_!r}"
    )

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(8.5, 3.2), layout="constrained")
left.bar(budgets, taken)
left.set(xlabel="max_seconds", title="seconds taken")
right.bar(budgets, errors, color="C1")
right.axhline(1.0, color="0.5", linestyle=":")
right.annotate("noise of the targets", (-0.4, 1.04))
right.set(xlabel="max_seconds", title="test RMSE")
plt.show()
