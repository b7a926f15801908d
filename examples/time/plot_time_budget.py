"""
A time budget
=============

``max_seconds`` bounds the whole fit: the search for feature weights, kernel width and C, and the
solver. The fit ends in time with the best model that it has found.
"""

import time

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from dsekl import DSEKLClassifier

# %%
# One problem, four budgets
# -------------------------
# The class depends on five columns of twenty, and one label in twenty is random. What a budget buys
# depends on the machine; ``stop_reason_`` tells whether it ended the fit. One fit is made
# before, so that compiling is not counted.

X, y = make_classification(
    3_000,
    20,
    n_informative=5,
    n_redundant=0,
    n_clusters_per_class=4,
    flip_y=0.05,
    random_state=0,
)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
DSEKLClassifier(max_seconds=1, random_state=0).fit(X_train, y_train)

budgets = ("0.3", "1", "3", "no limit")
errors, taken = [], []
for budget in budgets:
    seconds = None if budget == "no limit" else float(budget)
    start = time.perf_counter()
    model = DSEKLClassifier(max_seconds=seconds, random_state=0).fit(X_train, y_train)
    taken.append(time.perf_counter() - start)
    errors.append(100 * (1 - model.score(X_test, y_test)))
    print(
        f"{budget:>8}: {taken[-1]:5.2f} s, test error {errors[-1]:.1f} %, "
        f"weights {model.metric_}, stopped by {model.stop_reason_!r}"
    )

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(8.5, 3.2), layout="constrained")
left.bar(budgets, taken)
left.set(xlabel="max_seconds", title="seconds taken")
right.bar(budgets, errors, color="C1")
right.set(xlabel="max_seconds", title="test error, %")
plt.show()
